package module

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// The media types of the CNCF's layout of modules in registries
// (https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact).
const (
	ConfigMediaType = "application/vnd.wasm.config.v0+json"
	LayerMediaType  = "application/wasm"
)

// maxImageManifest is the size of an image's manifest at most, in bytes. That of a
// module names a config and a layer.
const maxImageManifest = 64 << 10

// fetchImage gets a module from a registry: the one layer that is a module, in an
// image manifest of the CNCF's layout. An image that is named by its digest is pinned.
// Credentials are those of docker login.
func (s *Sources) fetchImage(ctx context.Context, image string) (data []byte, pinned bool, err error) {
	fail := func(detail, fix string, err error) ([]byte, bool, error) {
		return nil, false, &Error{File: "oci://" + image, Section: sectionModule, Detail: plain.Cut(detail, maxProblem), Fix: fix, Err: err}
	}
	ref, err := registry.ParseReference(image)
	if err != nil {
		return fail(err.Error(), "write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:…", err)
	}
	pinned = ref.ValidateReferenceAsDigest() == nil
	if pinned {
		if known, err := readFile(s.file(ref.Reference, ".module"), "", 128); s.config.Dir != "" && err == nil {
			if data, ok := s.kept(string(known)); ok {
				return data, true, nil
			}
		}
	}
	repository, err := s.repository(ref)
	if err != nil {
		return fail(err.Error(), "", err)
	}
	described, body, err := repository.FetchReference(ctx, ref.ReferenceOrDefault())
	if err != nil {
		return fail(registryError(err), registryFix(err), err)
	}
	defer body.Close() //nolint:errcheck // it was only read
	if described.Size > maxImageManifest {
		return fail(fmt.Sprintf("its manifest has %d bytes, at most %d are allowed", described.Size, maxImageManifest), "", nil)
	}
	text, err := content.ReadAll(body, described)
	if err != nil {
		return fail("its manifest: "+err.Error(), "try again", err)
	}
	layer, bad := moduleLayer(described, text)
	if bad != nil {
		return fail(bad.detail, bad.fix, nil)
	}
	data, ok := s.kept(layer.Digest.String())
	if !ok {
		if data, err = fetchLayer(ctx, repository, layer); err != nil {
			return fail("its module: "+registryError(err), registryFix(err), err)
		}
	}
	if s.config.Dir != "" && pinned {
		_ = write(s.file(ref.Reference, ".module"), []byte(Digest(data))) // as in keep
	}
	return data, pinned, nil
}

// fetchLayer gets a layer and holds it against its size and digest.
func fetchLayer(ctx context.Context, from content.Fetcher, layer ocispec.Descriptor) ([]byte, error) {
	body, err := from.Fetch(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	verified := content.NewVerifyReader(body, layer)
	data, err := readModule(verified)
	if err != nil {
		return nil, err
	}
	return data, verified.Verify()
}

// repository returns a connection to a repository. A registry of this machine is
// spoken to without TLS, as docker does.
func (s *Sources) repository(ref registry.Reference) (*remote.Repository, error) {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("credentials of docker login: %w", err)
	}
	client := &auth.Client{Client: &http.Client{Transport: retry.NewTransport(s.config.Transport)}, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	client.SetUserAgent("berth")
	repository := &remote.Repository{Client: client, Reference: ref, MaxMetadataBytes: maxImageManifest}
	host, _, err := net.SplitHostPort(ref.Host())
	if err != nil {
		host = ref.Host()
	}
	ip := net.ParseIP(host)
	repository.PlainHTTP = host == "localhost" || ip != nil && ip.IsLoopback()
	return repository, nil
}

// moduleLayer finds the module among the layers of a manifest.
func moduleLayer(described ocispec.Descriptor, text []byte) (ocispec.Descriptor, *problem) {
	const fix = "push it with oras push --config FILE:" + ConfigMediaType + " REFERENCE FILE.wasm:" + LayerMediaType
	none := ocispec.Descriptor{}
	if described.MediaType != ocispec.MediaTypeImageManifest {
		return none, &problem{detail: "it is of type " + described.MediaType + ", not " + ocispec.MediaTypeImageManifest, fix: fix}
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return none, &problem{detail: "its manifest: " + err.Error(), fix: fix}
	}
	if (manifest.Versioned != specs.Versioned{SchemaVersion: 2}) {
		return none, &problem{detail: "its manifest is of another version than 2", fix: fix}
	}
	var found []ocispec.Descriptor
	var types []string
	for _, layer := range manifest.Layers {
		if len(types) < 10 {
			types = append(types, plain.Cut(layer.MediaType, 64))
		}
		if layer.MediaType == LayerMediaType {
			found = append(found, layer)
		}
	}
	switch {
	case len(found) != 1:
		return none, &problem{detail: fmt.Sprintf("it has %d layers of type %s, not one (its layers: %s)", len(found), LayerMediaType, plain.List(types, ", ", maxPlace, "layers")), fix: fix}
	case found[0].Size < 0 || found[0].Size > wire.MaxModuleSize:
		return none, &problem{detail: fmt.Sprintf("its module has %d bytes, at most %d are allowed", found[0].Size, wire.MaxModuleSize)}
	}
	return found[0], nil
}

func registryError(err error) string {
	if errors.Is(err, errdef.ErrNotFound) {
		return "there is no such image"
	}
	return err.Error()
}

func registryFix(err error) string {
	if errors.Is(err, errdef.ErrNotFound) {
		return "see what there is with oras repo tags REGISTRY/REPOSITORY"
	}
	return "see whether the registry answers, and log in with docker login if it asks for it"
}
