package oci

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
)

// Limits of a tarball: the number of its entries, and the size of its index in bytes.
const (
	maxEntries = 10_000
	maxIndex   = 4 << 20
)

// maxDecoded is the most memory that the values of a manifest or a list take: an empty descriptor of two bytes takes 200.
const maxDecoded = 64 << 20

// decode decodes a manifest or a list.
func decode(ctx context.Context, text []byte, into any) error {
	return bounded.JSON(ctx, text, maxDecoded, into)
}

// checkArchive refuses a tarball that is not a plain OCI layout: links, files outside the
// layout, duplicate names, manifests that are too large.
func checkArchive(ctx context.Context, ref Reference) error {
	f, err := bounded.OpenRegular(ref.Archive)
	if err != nil {
		return ref.fail("", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return checkTar(ctx, ref, f)
}

func checkTar(ctx context.Context, ref Reference, r interface {
	io.ReadSeeker
	io.ReaderAt
}) error {
	const fix = "make it with berth plugin copy REFERENCE oci-archive:FILE"
	entry := regexp.MustCompile(`^(oci-layout|index\.json|blobs/sha256/[0-9a-f]{64})$`)
	folder := regexp.MustCompile(`^(\.|blobs|blobs/sha256)/?$`)
	t := &tarball{of: r, files: make(map[string]extent)}
	files := tar.NewReader(r)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return checkManifests(ctx, ref, t.read)
		}
		var at int64
		if err == nil {
			at, err = r.Seek(0, io.SeekCurrent)
		}
		if err != nil {
			return ref.problem(fix, "it is not a tarball: %v", err)
		}
		name := strings.TrimPrefix(h.Name, "./")
		switch {
		case len(t.files) >= maxEntries:
			return ref.problem(fix, "it has more than %d files", maxEntries)
		case h.Typeflag == tar.TypeDir && (name == "" || folder.MatchString(name)):
			continue
		case h.Typeflag != tar.TypeReg:
			return ref.problem(fix, "%s is not a regular file: links and devices are refused", plain.Quote(h.Name, 128))
		case !entry.MatchString(name):
			return ref.problem(fix, "%s is not a file of an OCI layout", plain.Quote(h.Name, 128))
		case t.files[name] != extent{}:
			return ref.problem(fix, "%s appears twice", plain.Quote(h.Name, 128))
		case !strings.HasPrefix(name, "blobs/") && h.Size > maxIndex:
			return ref.fail(name, tooLarge(h.Size, maxIndex))
		case h.Size > maxAllLayers:
			return ref.fail(name, tooLarge(h.Size, maxAllLayers))
		case slices.ContainsFunc(slices.Sorted(maps.Keys(h.PAXRecords)), isSparse):
			return ref.problem(fix, "%s has holes", plain.Quote(h.Name, 128))
		}
		t.files[name] = extent{at, h.Size}
	}
}

// isSparse reports whether a record of a file in a tarball says that it has holes.
func isSparse(record string) bool { return strings.HasPrefix(record, "GNU.sparse.") }

// createArchive opens a tarball for writing. Its images are kept.
func createArchive(ctx context.Context, ref Reference) (_ *Store, err error) {
	dir, err := os.MkdirTemp("", "berth-layout-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	target, err := oci.NewWithContext(ctx, dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(ref.Archive); !errors.Is(err, fs.ErrNotExist) {
		if err := keepArchive(ctx, ref, target); err != nil {
			return nil, err
		}
	}
	return &Store{ref: ref, source: target, target: target, close: func() error {
		return errors.Join(writeArchive(dir, ref), os.RemoveAll(dir))
	}}, nil
}

// keepArchive copies everything in a tarball.
func keepArchive(ctx context.Context, ref Reference, to *oci.Store) error {
	if err := checkArchive(ctx, ref); err != nil {
		return err
	}
	from, err := oci.NewFromTar(ctx, ref.Archive)
	if err != nil {
		return ref.fail("it is not an OCI layout", err)
	}
	index, err := archiveIndex(ctx, ref)
	if err != nil {
		return err
	}
	for _, d := range index.Manifests {
		if err := oras.CopyGraph(ctx, from, to, d, oras.CopyGraphOptions{MaxMetadataBytes: maxIndex}); err != nil {
			return ref.fail("", err)
		}
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
			if err := to.Tag(ctx, d, tag); err != nil {
				return ref.fail("", err)
			}
		}
	}
	return nil
}

// archiveIndex reads the list of manifests of a checked tarball.
func archiveIndex(ctx context.Context, ref Reference) (index ocispec.Index, err error) {
	f, err := bounded.OpenRegular(ref.Archive)
	if err != nil {
		return index, ref.fail("", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	for files := tar.NewReader(f); ; {
		h, err := files.Next()
		if err != nil {
			return index, ref.fail("index.json", err)
		}
		if strings.TrimPrefix(h.Name, "./") == ocispec.ImageIndexFile {
			text, err := bounded.All(files, maxIndex)
			if err == nil {
				err = decode(ctx, text, &index)
			}
			return index, ref.fail("index.json", err)
		}
	}
}

// writeArchive writes a folder as a tarball. The same folder gives the same bytes.
func writeArchive(dir string, ref Reference) error {
	out, err := os.CreateTemp(filepath.Dir(ref.Archive), ".berth-archive-")
	if err != nil {
		return ref.fail("", err)
	}
	err = errors.Join(tarFolder(out, dir), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), ref.Archive)
	}
	if err != nil {
		return ref.fail("", errors.Join(err, os.Remove(out.Name())))
	}
	return nil
}

func tarFolder(w io.Writer, dir string) error {
	out := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	})
	return errors.Join(err, out.Close())
}
