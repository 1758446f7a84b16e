package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The types of artifacts that Berth attaches to images. Sigstore's is cosign's
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

// attachedTypes returns the types that Berth reads.
func attachedTypes() []string {
	return []string{BundleType, ReadmeType, LicenseType, SBOMType, ConformanceType, BenchType}
}

// Limits of attachments: the number per type and image, and the size of one in bytes.
const (
	maxAttachments = 64
	MaxAttachment  = 4 << 20
)

// Attachment is a file that refers to an image. It is stored as an artifact of its own.
type Attachment struct {
	// Type is the artifact's type and the media type of its layer.
	Type string
	// Annotations are the artifact's annotations.
	Annotations map[string]string
	Data        []byte
	// Manifest describes the artifact's manifest, and Digest is its digest; Attach ignores both.
	Manifest ocispec.Descriptor
	Digest   digest.Digest
}

// Attach attaches a file to an image, and describes the artifact's manifest. If the registry has no referrers API, the list of
// attachments is kept under a tag of the image's digest. Another client may overwrite that
// list, so Attach reads it again afterwards and retries.
func (s *Store) Attach(ctx context.Context, subject ocispec.Descriptor, a Attachment) (ocispec.Descriptor, error) {
	none := ocispec.Descriptor{}
	const tries = 5
	if size := int64(len(a.Data)); size > MaxAttachment {
		return none, s.ref.fail("attach "+a.Type, tooLarge(size, MaxAttachment))
	}
	manifest, err := s.artifact(ctx, a.Type, a.Data, a.Annotations)
	if err != nil {
		return none, err
	}
	manifest.Subject = &ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	var notes []error
	for range tries {
		described, err := s.manifest(ctx, manifest)
		if err != nil {
			return none, err
		}
		var listed []ocispec.Descriptor
		if listed, notes, err = s.referrers(ctx, subject, a.Type); err != nil {
			return none, err
		}
		if slices.ContainsFunc(listed, func(d ocispec.Descriptor) bool { return d.Digest == described.Digest }) {
			return described, nil
		}
	}
	if len(notes) > 0 {
		return none, s.ref.problem("ask the registry's operator", "%s was stored, but the registry does not list it: %v",
			a.Type, notes[len(notes)-1])
	}
	return none, s.ref.problem("try again", "other clients changed its list of attachments %d times in the meantime", tries)
}

// referrers returns the artifacts that, according to the registry, refer to an image and may be
// of a type. Some registries list no type or the config's type, so it requests the artifacts of
// all types. Its notes say why there may be none.
func (s *Store) referrers(ctx context.Context, subject ocispec.Descriptor, artifactType string) (out []ocispec.Descriptor, notes []error, err error) {
	all, notes, err := s.list(ctx, subject)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range all {
		if d.ArtifactType == artifactType || isVague(d.ArtifactType) {
			out = append(out, d)
		}
	}
	if len(out) > maxAttachments {
		return nil, nil, s.ref.At(subject.Digest).problem("have unused artifacts removed from the registry", "more than %d artifacts of type %s refer to it", maxAttachments, artifactType)
	}
	if other := foreign(all); len(out) == 0 && other != nil {
		notes = append(notes, other)
	}
	return out, notes, nil
}

// isVague reports whether a list leaves an artifact's type open.
func isVague(listed string) bool { return listed == "" || listed == ocispec.MediaTypeEmptyJSON }

// Attachments gets the attachments of a type. It skips a listed artifact that is about another
// image, of another type, or missing; lies says why, for each, and what is odd about how the registry
// lists them.
func (s *Store) Attachments(ctx context.Context, subject ocispec.Descriptor, artifactType string) (found []Attachment, lies []error, err error) {
	listed, lies, err := s.referrers(ctx, subject, artifactType)
	if err != nil {
		return nil, nil, err
	}
	if len(listed) == 0 && len(lies) == 1 && errors.Is(lies[0], errNullList) {
		lies = nil // some honest registries answer so if there is nothing
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

// attachment gets a listed artifact; nil if it is of another type and the list left the type
// open.
func (s *Store) attachment(ctx context.Context, subject ocispec.Descriptor, artifactType string, described ocispec.Descriptor) (*Attachment, error) {
	described.MediaType = ocispec.MediaTypeImageManifest
	text, err := s.fetch(ctx, described, maxManifest)
	if err != nil {
		return nil, s.ref.fail("", err)
	}
	var m ocispec.Manifest
	if err := decode(ctx, text, &m); err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	switch {
	case m.MediaType != ocispec.MediaTypeImageManifest:
		return nil, fmt.Errorf("it is of type %q, not %s", m.MediaType, ocispec.MediaTypeImageManifest)
	case m.Subject == nil || m.Subject.Digest != subject.Digest:
		return nil, fmt.Errorf("the registry lists it, but it refers to another image")
	case m.ArtifactType != artifactType && isVague(described.ArtifactType):
		return nil, nil
	case m.ArtifactType != artifactType:
		return nil, fmt.Errorf("the registry lists it as %s, but it is of type %q", artifactType, m.ArtifactType)
	case len(m.Layers) != 1:
		return nil, fmt.Errorf("it has %d layers, not one", len(m.Layers))
	case !fits(m.Config, maxManifest):
		return nil, fmt.Errorf("its config has %d bytes, at most %d are allowed", m.Config.Size, maxManifest)
	}
	data, err := s.fetch(ctx, m.Layers[0], MaxAttachment)
	if err != nil {
		return nil, s.ref.fail("", err)
	}
	return &Attachment{Type: artifactType, Annotations: m.Annotations, Data: data, Digest: described.Digest, Manifest: described}, nil
}
