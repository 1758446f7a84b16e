package oci

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// maxManifests is how many bytes all manifests of a layout have at most.
const maxManifests = 32 << 20

// checkManifests refuses a layout in which something names a manifest that is larger than one is, or whose values take too much memory.
// The library reads whole whatever a descriptor calls a manifest, before anybody asks for it. read returns the bytes of a file.
func checkManifests(ctx context.Context, ref Reference, read func(name string) ([]byte, error)) error {
	text, err := read(ocispec.ImageIndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is no layout, as the library says
	}
	var listed struct{ Manifests []ocispec.Descriptor }
	if err == nil {
		err = decode(ctx, text, &listed)
	}
	if err != nil {
		return ref.fail("it is not an OCI layout", err)
	}
	left, seen := maxManifests, make(map[digest.Digest]bool)
	for next := listed.Manifests; len(next) > 0; {
		d := next[len(next)-1]
		next = next[:len(next)-1]
		if !isManifest(d.MediaType) || seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		if err := d.Digest.Validate(); err != nil {
			return ref.fail("a manifest", err)
		}
		if !fits(d, maxIndex) {
			return ref.fail("a manifest", tooLarge(d.Size, maxIndex))
		}
		text, err := read(path.Join(ocispec.ImageBlobsDir, d.Digest.Algorithm().String(), d.Digest.Encoded()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is elsewhere
		}
		var m struct {
			Manifests, Layers, Blobs []ocispec.Descriptor
			Config, Subject          *ocispec.Descriptor
		}
		if err == nil {
			err = decode(ctx, text, &m)
		}
		if left -= len(text); err == nil && left < 0 {
			err = tooLarge(int64(maxManifests-left), maxManifests)
		}
		if err != nil {
			return ref.fail("its manifests", err)
		}
		next = append(append(append(next, m.Manifests...), m.Layers...), m.Blobs...)
		for _, d := range []*ocispec.Descriptor{m.Config, m.Subject} {
			if d != nil {
				next = append(next, *d)
			}
		}
	}
	return nil
}

// isManifest reports whether the library reads what is of a type whole.
func isManifest(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, "application/vnd.oci.artifact.manifest.v1+json",
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json":
		return true
	}
	return false
}

// tarball has where the files of a checked tarball are.
type tarball struct {
	of    io.ReaderAt
	files map[string]extent
}

type extent struct{ at, size int64 }

// read returns the bytes of a file that is not too large for a manifest.
func (t *tarball) read(name string) ([]byte, error) {
	file, ok := t.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return bounded.All(io.NewSectionReader(t.of, file.at, file.size), maxIndex)
}

// openLayout opens a folder for reading. Its manifests are checked.
func openLayout(ctx context.Context, ref Reference) (*os.Root, error) {
	root, err := os.OpenRoot(ref.Dir)
	if err != nil {
		return nil, ref.fail("", err)
	}
	err = checkManifests(ctx, ref, func(name string) ([]byte, error) {
		f, err := folder{root.FS()}.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return bounded.All(f, maxIndex)
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}
