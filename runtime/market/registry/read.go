package registry

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"cuelabs.dev/go/oci/ociregistry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// blob is an open blob in a layout folder.
type blob struct {
	io.Reader
	io.Closer
	described ociregistry.Descriptor
}

func (b *blob) Descriptor() ociregistry.Descriptor { return b.described }

func (f *folders) ResolveBlob(_ context.Context, repo string, digest ociregistry.Digest) (ociregistry.Descriptor, error) {
	if _, err := f.repository(repo, false); err != nil {
		return ociregistry.Descriptor{}, err
	}
	size, err := f.blobSize(repo, digest)
	return ociregistry.Descriptor{MediaType: "application/octet-stream", Digest: digest, Size: size}, err
}

func (f *folders) GetBlob(ctx context.Context, repo string, digest ociregistry.Digest) (ociregistry.BlobReader, error) {
	described, err := f.ResolveBlob(ctx, repo, digest)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, repo, described, ociregistry.ErrBlobUnknown)
}

func (f *folders) GetBlobRange(ctx context.Context, repo string, digest ociregistry.Digest, from, to int64) (ociregistry.BlobReader, error) {
	b, err := f.GetBlob(ctx, repo, digest)
	if err != nil {
		return nil, err
	}
	size := b.Descriptor().Size
	if to < 0 || to > size {
		to = size
	}
	if _, err := io.CopyN(io.Discard, b, min(from, size)); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &blob{Reader: io.LimitReader(b, max(to-from, 0)), Closer: b, described: b.Descriptor()}, nil
}

func (f *folders) read(ctx context.Context, repo string, described ociregistry.Descriptor, unknown error) (ociregistry.BlobReader, error) {
	store, err := f.repository(repo, false)
	if err != nil {
		return nil, err
	}
	if _, err := f.blobSize(repo, described.Digest); err != nil {
		return nil, unknown
	}
	body, err := store.Fetch(ctx, described)
	if errors.Is(err, errdef.ErrNotFound) {
		err = unknown
	}
	if err != nil {
		return nil, err
	}
	return &blob{Reader: body, Closer: body, described: described}, nil
}

func (f *folders) ResolveTag(ctx context.Context, repo, tag string) (ociregistry.Descriptor, error) {
	store, err := f.repository(repo, false)
	if err != nil {
		return ociregistry.Descriptor{}, err
	}
	described, err := store.Resolve(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		err = ociregistry.ErrManifestUnknown
	}
	if err == nil && !isManifest(described.MediaType) {
		err = ociregistry.ErrManifestUnknown // a layout also resolves blobs by their digests
	}
	return described, err
}

func (f *folders) ResolveManifest(ctx context.Context, repo string, digest ociregistry.Digest) (ociregistry.Descriptor, error) {
	return f.ResolveTag(ctx, repo, digest.String())
}

func (f *folders) GetTag(ctx context.Context, repo, tag string) (ociregistry.BlobReader, error) {
	described, err := f.ResolveTag(ctx, repo, tag)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, repo, described, ociregistry.ErrManifestUnknown)
}

func (f *folders) GetManifest(ctx context.Context, repo string, digest ociregistry.Digest) (ociregistry.BlobReader, error) {
	return f.GetTag(ctx, repo, digest.String())
}

func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == ocispec.MediaTypeImageIndex
}

func (f *folders) Tags(ctx context.Context, repo, startAfter string) iter.Seq2[string, error] {
	store, err := f.repository(repo, false)
	if err != nil {
		return ociregistry.ErrorSeq[string](err)
	}
	tags, err := registry.Tags(ctx, store)
	if err != nil {
		return ociregistry.ErrorSeq[string](err)
	}
	return after(tags, startAfter)
}

func (f *folders) Repositories(_ context.Context, startAfter string) iter.Seq2[string, error] {
	var names []string
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "blobs":
			return fs.SkipDir
		case entry.Name() == ocispec.ImageIndexFile:
			name, err := filepath.Rel(f.dir, filepath.Dir(path))
			if err == nil && name != "." {
				names = append(names, filepath.ToSlash(name))
			}
			return err
		}
		return nil
	})
	if err != nil {
		return ociregistry.ErrorSeq[string](err)
	}
	return after(names, startAfter)
}

// after returns the names that follow one, in order.
func after(names []string, startAfter string) iter.Seq2[string, error] {
	names = slices.DeleteFunc(names, func(name string) bool { return name <= startAfter })
	slices.Sort(names)
	return ociregistry.SliceSeq(names)
}

func (f *folders) Referrers(ctx context.Context, repo string, digest ociregistry.Digest, artifactType string) iter.Seq2[ociregistry.Descriptor, error] {
	store, err := f.repository(repo, false)
	if errors.Is(err, ociregistry.ErrNameUnknown) {
		return ociregistry.SliceSeq[ociregistry.Descriptor](nil)
	}
	if err != nil {
		return ociregistry.ErrorSeq[ociregistry.Descriptor](err)
	}
	found, err := f.referrers(ctx, repo, store, digest, artifactType)
	if err != nil {
		return ociregistry.ErrorSeq[ociregistry.Descriptor](err)
	}
	return ociregistry.SliceSeq(found)
}

// maxManifest is the most bytes of a manifest, as in other registries.
const maxManifest = 4 << 20

// manifestOf decodes a manifest, or the fields of an index that both have.
func manifestOf(ctx context.Context, r io.Reader) (*ocispec.Manifest, error) {
	text, err := bounded.All(r, maxManifest)
	if err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	return &m, bounded.JSON(ctx, text, 16*maxManifest, &m)
}

// referrers returns the manifests that refer to a subject. They may be stored before the
// subject. One that cannot be read is left out, which another registry may have stored in the folder.
func (f *folders) referrers(
	ctx context.Context, repo string, store *oci.Store, digest ociregistry.Digest, artifactType string,
) ([]ociregistry.Descriptor, error) {
	nodes, err := store.Predecessors(ctx, ociregistry.Descriptor{Digest: digest})
	if err != nil {
		return nil, err
	}
	var out []ociregistry.Descriptor
	for _, node := range nodes {
		if _, err := f.blobSize(repo, node.Digest); err != nil {
			continue
		}
		body, err := store.Fetch(ctx, node)
		if err != nil {
			return nil, err
		}
		m, err := manifestOf(ctx, body)
		_ = body.Close() // it was read
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue
		}
		if m.ArtifactType == "" {
			m.ArtifactType = m.Config.MediaType
		}
		if m.Subject == nil || m.Subject.Digest != digest || artifactType != "" && m.ArtifactType != artifactType {
			continue
		}
		node.ArtifactType, node.Annotations = m.ArtifactType, m.Annotations
		out = append(out, node)
	}
	slices.SortFunc(out, func(a, b ociregistry.Descriptor) int { return strings.Compare(a.Digest.String(), b.Digest.String()) })
	return out, nil
}
