package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
)

// The types of what Berth attaches to images. Sigstore's is cosign's
// (https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md).
const (
	BundleType  = "application/vnd.dev.sigstore.bundle.v0.3+json"
	ReadmeType  = "application/vnd.berth.plugin.readme.v1+markdown"
	LicenseType = "application/vnd.berth.plugin.license.v1+text"
	SBOMType    = "application/vnd.cyclonedx+json"
	// What berth plugin conformance and bench say of it with -o json.
	ConformanceType = "application/vnd.berth.plugin.conformance.v1+json"
	BenchType       = "application/vnd.berth.plugin.bench.v1+json"
)

// What is attached to an image at most: attachments of a kind, and the bytes of one.
const (
	maxAttachments = 64
	MaxAttachment  = 4 << 20
)

// Attachment is a file that refers to an image, as an artifact of its own.
type Attachment struct {
	// Type is the artifact's type and its layer's media type.
	Type string
	// Annotations are those of the artifact.
	Annotations map[string]string
	Data        []byte
	// Digest of the artifact's manifest; Attach does not read it.
	Digest digest.Digest

	manifest ocispec.Descriptor
}

// Attach attaches a file to an image. Where the registry has no referrers API, it
// keeps the list under the image's tag of the tag schema; another client may replace
// that list meanwhile, so it is read again afterwards.
func (s *Store) Attach(ctx context.Context, subject ocispec.Descriptor, a Attachment) (digest.Digest, error) {
	const tries = 5
	if size := int64(len(a.Data)); size > MaxAttachment {
		return "", s.ref.fail("attach "+a.Type, tooLarge(size, MaxAttachment))
	}
	manifest, err := s.artifact(ctx, a.Type, a.Data, a.Annotations)
	if err != nil {
		return "", err
	}
	manifest.Subject = &ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	for range tries {
		described, err := s.manifest(ctx, manifest)
		if err != nil {
			return "", err
		}
		listed, err := s.referrers(ctx, subject, a.Type)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(listed, func(d ocispec.Descriptor) bool { return d.Digest == described.Digest }) {
			return described.Digest, nil
		}
	}
	return "", s.ref.problem("try again", "others changed its list of attachments %d times meanwhile", tries)
}

// referrers lists what a registry says refers to an image and may be of a type. Some
// registries list no type, or that of the config, so they are asked for all types.
func (s *Store) referrers(ctx context.Context, subject ocispec.Descriptor, artifactType string) ([]ocispec.Descriptor, error) {
	var out []ocispec.Descriptor
	add := func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if d.ArtifactType == artifactType || isVague(d.ArtifactType) {
				out = append(out, d)
			}
		}
		if len(out) > maxAttachments {
			return s.ref.problem("have the registry cleaned up", "more than %d artifacts of type %s refer to it", maxAttachments, artifactType)
		}
		return nil
	}
	var err error
	if lister, ok := s.source.(registry.ReferrerLister); ok {
		err = lister.Referrers(ctx, subject, "", add)
	} else {
		var page []ocispec.Descriptor
		if page, err = registry.Referrers(ctx, s.source, subject, artifactType); err == nil {
			err = add(page)
		}
	}
	return out, s.ref.At(subject.Digest).fail("what refers to it", err)
}

// isVague reports whether a list does not tell an artifact's type.
func isVague(listed string) bool { return listed == "" || listed == ocispec.MediaTypeEmptyJSON }

// Attachments gets what of a type is attached to an image. An artifact that a list
// names but that is about another image, of another type, or not there is left out;
// lies tells of each why.
func (s *Store) Attachments(ctx context.Context, subject ocispec.Descriptor, artifactType string) (found []Attachment, lies []error, err error) {
	listed, err := s.referrers(ctx, subject, artifactType)
	if err != nil {
		return nil, nil, err
	}
	for _, described := range listed {
		a, err := s.attachment(ctx, subject, artifactType, described)
		switch {
		case ctx.Err() != nil:
			return nil, nil, s.ref.fail("", ctx.Err())
		case err != nil:
			lies = append(lies, fmt.Errorf("the attachment %s: %w", described.Digest, err))
		case a != nil:
			found = append(found, *a)
		}
	}
	slices.SortFunc(found, func(a, b Attachment) int { return bytes.Compare([]byte(a.Digest), []byte(b.Digest)) })
	return found, lies, nil
}

// attachment gets a listed artifact; nil if it is of another type and the list did not
// tell.
func (s *Store) attachment(ctx context.Context, subject ocispec.Descriptor, artifactType string, described ocispec.Descriptor) (*Attachment, error) {
	described.MediaType = ocispec.MediaTypeImageManifest
	text, err := s.fetch(ctx, described, maxManifest)
	if err != nil {
		return nil, s.ref.fail("", err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	switch {
	case m.MediaType != ocispec.MediaTypeImageManifest:
		return nil, fmt.Errorf("it is of type %q, not %s", m.MediaType, ocispec.MediaTypeImageManifest)
	case m.Subject == nil || m.Subject.Digest != subject.Digest:
		return nil, fmt.Errorf("the registry lists it, but it is about another image")
	case m.ArtifactType != artifactType && isVague(described.ArtifactType):
		return nil, nil
	case m.ArtifactType != artifactType:
		return nil, fmt.Errorf("the registry lists it as %s, but it is of type %q", artifactType, m.ArtifactType)
	case len(m.Layers) != 1:
		return nil, fmt.Errorf("it has %d layers, not one", len(m.Layers))
	case m.Config.Size > maxManifest:
		return nil, fmt.Errorf("its config has %d bytes, at most %d are allowed", m.Config.Size, maxManifest)
	}
	data, err := s.fetch(ctx, m.Layers[0], MaxAttachment)
	if err != nil {
		return nil, s.ref.fail("", err)
	}
	return &Attachment{Type: artifactType, Annotations: m.Annotations, Data: data, Digest: described.Digest, manifest: described}, nil
}
