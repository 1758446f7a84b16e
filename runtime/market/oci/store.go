package oci

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Config configures a Client.
type Config struct {
	// Transport (optional) makes the requests; the default is NewTransport.
	Transport http.RoundTripper
}

// Client opens the places that store images. It is safe for concurrent use.
type Client struct{ transport http.RoundTripper }

// New returns a client. It makes no requests.
func New(c Config) *Client {
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	return &Client{transport: c.Transport}
}

// Store is an open repository in a registry, an OCI layout folder, or a tarball.
type Store struct {
	ref    Reference
	source oras.ReadOnlyGraphTarget
	target oras.GraphTarget // nil if the store is read-only
	api    *referrersAPI    // of a registry
	close  func() error
}

// Open opens the place of a reference for reading. The caller must Close it.
func (c *Client) Open(ctx context.Context, ref Reference) (*Store, error) {
	switch {
	case ref.Dir != "":
		root, err := openLayout(ctx, ref)
		if err != nil {
			return nil, err
		}
		source, err := oci.NewFromFS(ctx, folder{root.FS()})
		if err != nil {
			return nil, errors.Join(ref.fail("it is not an OCI layout", err), root.Close())
		}
		return &Store{ref: ref, source: source, close: root.Close}, nil
	case ref.Archive != "":
		if err := checkArchive(ctx, ref); err != nil {
			return nil, err
		}
		source, err := oci.NewFromTar(ctx, ref.Archive)
		if err != nil {
			return nil, ref.fail("it is not an OCI layout", err)
		}
		return &Store{ref: ref, source: source}, nil
	}
	repository, api, err := c.repository(ref)
	if err != nil {
		return nil, err
	}
	return &Store{ref: ref, source: repository, target: repository, api: api}, nil
}

// Create opens the place of a reference for writing, and creates it if it is missing. The
// caller must Close it; Close writes a tarball.
func (c *Client) Create(ctx context.Context, ref Reference) (*Store, error) {
	switch {
	case ref.Dir != "":
		target, err := oci.NewWithContext(ctx, ref.Dir)
		if err != nil {
			return nil, ref.fail("", err)
		}
		return &Store{ref: ref, source: target, target: target}, nil
	case ref.Archive != "":
		return createArchive(ctx, ref)
	}
	return c.Open(ctx, ref)
}

// Close closes the store.
func (s *Store) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// maxList is the maximum size of a list of referrers in bytes, maxPages the maximum number of
// its pages.
const (
	maxList  = 1 << 20
	maxPages = 8
)

// repository returns a client for a repository. It connects to a registry on this machine
// without TLS, as docker does.
func (c *Client) repository(ref Reference) (*remote.Repository, *referrersAPI, error) {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, nil, ref.fail("credentials of docker login", err)
	}
	at := registry.Reference{Registry: ref.Registry, Repository: ref.Repository}
	host := at.Host()
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	api := &referrersAPI{inner: retry.NewTransport(naming{host: host, inner: c.transport})}
	client := &auth.Client{
		Client:     &http.Client{Transport: api},
		Cache:      auth.NewCache(),
		Credential: credentials.Credential(store),
	}
	client.SetUserAgent("berth")
	return &remote.Repository{
		Client: client, Reference: at, PlainHTTP: IsLocal(host),
		MaxMetadataBytes: maxList, ReferrerListMaxPages: maxPages,
		SkipReferrersGC: true, // many registries forbid deleting; other clients may still read the old list
	}, api, nil
}

// naming marks requests to a host that the user named.
type naming struct {
	host  string
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (n naming) RoundTrip(r *http.Request) (*http.Response, error) {
	return n.inner.RoundTrip(r.WithContext(Named(r.Context(), n.host)))
}

// Image finds an image by its tag or digest.
func (s *Store) Image(ctx context.Context, name string) (*Image, error) {
	ref := s.ref.named(name)
	described, text, err := s.fetchManifest(ctx, name)
	if err != nil {
		return nil, ref.fail("", err)
	}
	return readImage(ctx, ref, described, text)
}

// fetchManifest gets a manifest by tag or digest, in one request if possible.
func (s *Store) fetchManifest(ctx context.Context, name string) (ocispec.Descriptor, []byte, error) {
	var described ocispec.Descriptor
	var body io.ReadCloser
	var err error
	if direct, ok := s.source.(registry.ReferenceFetcher); ok {
		described, body, err = direct.FetchReference(ctx, name)
	} else if described, err = s.source.Resolve(ctx, name); err == nil {
		body, err = s.source.Fetch(ctx, described)
	}
	if err != nil {
		return described, nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	text, err := readAll(body, described, maxManifest)
	return described, text, err
}

// Module gets the module of an image and checks its size and digest. It also checks the config:
// Berth does not use it, but a wrong digest shows that the registry cannot be trusted.
func (s *Store) Module(ctx context.Context, image *Image) ([]byte, error) {
	if _, err := s.fetch(ctx, image.config, maxManifest); err != nil {
		return nil, image.Ref.fail("its config", err)
	}
	data, err := s.fetch(ctx, image.Module, wire.MaxModuleSize)
	return data, image.Ref.fail("its module", err)
}

// fetch gets the blob of a descriptor, of at most limit bytes.
func (s *Store) fetch(ctx context.Context, described ocispec.Descriptor, limit int64) ([]byte, error) {
	if !fits(described, limit) {
		return nil, tooLarge(described.Size, limit)
	}
	body, err := s.source.Fetch(ctx, described)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	return readAll(body, described, limit)
}

// readAll reads a blob and checks its size and digest. It allocates for the bytes that arrive,
// not for the announced size.
func readAll(r io.Reader, described ocispec.Descriptor, limit int64) ([]byte, error) {
	if !fits(described, limit) {
		return nil, tooLarge(described.Size, limit)
	}
	data, err := content.ReadAll(r, described)
	switch {
	case errors.Is(err, content.ErrTrailingData):
		return nil, &Error{Detail: "it is longer than announced", Fix: "ask the registry's operator", Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &Error{Detail: "it is shorter than announced", Fix: "try again", Err: err}
	case errors.Is(err, content.ErrMismatchedDigest):
		return nil, &Error{Detail: "its bytes do not have the digest " + described.Digest.String(), Fix: "ask the registry's operator", Err: err}
	}
	return data, err
}

// fits reports whether a blob is announced with at most limit bytes.
func fits(described ocispec.Descriptor, limit int64) bool {
	return described.Size >= 0 && described.Size <= limit
}

// blob stores bytes unless the store has them.
func (s *Store) blob(ctx context.Context, described ocispec.Descriptor, data []byte) error {
	if exists, err := s.target.Exists(ctx, described); err == nil && exists && described.ArtifactType == "" {
		return nil
	}
	err := s.target.Push(ctx, described, bytes.NewReader(data))
	if errors.Is(err, errdef.ErrAlreadyExists) {
		err = nil
	}
	return s.ref.fail("push", err)
}
