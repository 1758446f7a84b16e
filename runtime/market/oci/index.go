package oci

import (
	"context"
	"errors"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"

	"github.com/berth-scheduler/berth/internal/plain"
)

// IndexType is the type of an index of plugins, and the media type of its layer.
const IndexType = "application/vnd.berth.plugin.index.v1+json"

// MaxIndex is the maximum size of an index in bytes, maxTags the maximum number of tags of a
// repository, and maxTagPages that of the pages of their list, which may be empty.
const (
	MaxIndex    = 16 << 20
	maxTags     = 10_000
	maxTagPages = 500
)

// Index is an index of plugins as an artifact, checked against its digest.
type Index struct {
	// Ref is where it is.
	Ref        Reference
	Descriptor ocispec.Descriptor
	// Data is its layer.
	Data []byte
}

// PushIndex stores an index without a tag, so that nobody finds it before it is signed: attach
// the signature, then call Tag. annotations are the artifact's annotations.
func (s *Store) PushIndex(ctx context.Context, data []byte, annotations map[string]string) (ocispec.Descriptor, error) {
	if int64(len(data)) > MaxIndex {
		return ocispec.Descriptor{}, s.ref.fail("push", tooLarge(int64(len(data)), MaxIndex))
	}
	m, err := s.artifact(ctx, IndexType, data, annotations)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return s.manifest(ctx, m)
}

// Tag tags a stored artifact with the tag of the reference, or DefaultTag.
func (s *Store) Tag(ctx context.Context, described ocispec.Descriptor) error {
	return s.ref.fail("tag", s.target.Tag(ctx, described, s.ref.Name()))
}

// artifact stores the layer and the empty config of an artifact, and returns its
// manifest.
func (s *Store) artifact(ctx context.Context, kind string, data []byte, annotations map[string]string) (ocispec.Manifest, error) {
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: kind,
		Config:       ocispec.DescriptorEmptyJSON,
		Layers:       []ocispec.Descriptor{content.NewDescriptorFromBytes(kind, data)},
		Annotations:  annotations,
	}
	m.Config.Data = nil // old registries need the config as a blob
	if err := s.blob(ctx, m.Layers[0], data); err != nil {
		return m, err
	}
	return m, s.blob(ctx, m.Config, ocispec.DescriptorEmptyJSON.Data)
}

// ErrNoIndex is returned if there is no index with the name.
var ErrNoIndex = errors.New("there is no index")

// Index gets the index with a tag or digest. Only its signature proves who made it.
func (s *Store) Index(ctx context.Context, name string) (*Index, error) {
	const fix = "name an index that berth plugin index made"
	ref := s.ref.named(name)
	described, text, err := s.fetchManifest(ctx, name)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, &Error{Ref: ref.String(), Detail: ErrNoIndex.Error(), Fix: fix, Err: ErrNoIndex}
	}
	if err != nil {
		return nil, ref.fail("", err)
	}
	var m ocispec.Manifest
	if err := decode(ctx, text, &m); err != nil {
		return nil, ref.problem(fix, "its manifest: %v", err)
	}
	switch {
	case described.MediaType != ocispec.MediaTypeImageManifest || m.ArtifactType != IndexType:
		return nil, ref.problem(fix, "it is not an index of plugins, but of type %s", plain.Quote(m.ArtifactType, 80))
	case m.Subject != nil || len(m.Layers) != 1 || m.Layers[0].MediaType != IndexType:
		return nil, ref.problem(fix, "it does not have exactly one layer, as an index of plugins has")
	case !fits(m.Config, maxManifest):
		return nil, ref.fail("its config", tooLarge(m.Config.Size, maxManifest))
	}
	data, err := s.fetch(ctx, m.Layers[0], MaxIndex)
	if err != nil {
		return nil, ref.fail("its list", err)
	}
	return &Index{Ref: ref, Descriptor: described, Data: data}, nil
}

// Tags lists the tags of the repository, sorted.
func (s *Store) Tags(ctx context.Context) ([]string, error) {
	lister, ok := s.source.(registry.TagLister)
	if !ok {
		return nil, s.ref.problem("name a registry or an OCI layout folder", "its tags cannot be listed")
	}
	var out []string
	pages := 0
	err := lister.Tags(ctx, "", func(page []string) error {
		if out = append(out, page...); len(out) > maxTags {
			return s.ref.problem("have unused tags removed from the registry", "it has more than %d tags", maxTags)
		}
		if pages++; pages > maxTagPages {
			return s.ref.problem("ask the registry's operator", "the list of its tags has more than %d pages", maxTagPages)
		}
		return nil
	})
	return out, s.ref.fail("its tags", err)
}
