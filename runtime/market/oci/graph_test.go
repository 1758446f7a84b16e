package oci_test

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// TestLayoutBombs: a folder and a tarball whose index leads to a manifest of 2 GiB, or to one whose values take gigabytes, are refused
// before they are read.
func TestLayoutBombs(t *testing.T) {
	const huge = 2 << 30
	named := func(kind string, d digest.Digest, size int) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, kind, d, size)
	}
	index := func(manifests ...string) []byte {
		return fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[%s]}`, strings.Join(manifests, ","))
	}
	hole := digest.FromString("a hole")
	inside := index(named(ocispec.MediaTypeImageManifest, hole, huge))
	many := index(strings.Repeat("{},", 1_000_000) + "{}")
	layers := fmt.Appendf(nil, `{"schemaVersion":2,"layers":[%s]}`, named(ocispec.MediaTypeImageIndex, hole, huge))
	for what, files := range map[string]map[string][]byte{
		"listed":  {"index.json": index(named(ocispec.MediaTypeImageManifest, hole, huge))},
		"inside":  {"index.json": index(named(ocispec.MediaTypeImageIndex, digest.FromBytes(inside), len(inside))), "inside": inside},
		"a layer": {"index.json": index(named(ocispec.MediaTypeImageManifest, digest.FromBytes(layers), len(layers))), "layer": layers},
		"many":    {"index.json": index(named(ocispec.MediaTypeImageIndex, digest.FromBytes(many), len(many))), "many": many},
		"itself":  {"index.json": many},
	} {
		dir := t.TempDir()
		blobs := filepath.Join(dir, "blobs", "sha256")
		if err := os.MkdirAll(blobs, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "layout.tar")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewWriter(out)
		add := func(name string, text []byte) {
			t.Helper()
			err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, 0o600)
			if err == nil {
				err = archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))})
			}
			if err == nil {
				_, err = archive.Write(text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
		for name, text := range files {
			if name != "index.json" {
				name = "blobs/sha256/" + digest.FromBytes(text).Encoded()
			}
			add(name, text)
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(blobs, hole.Encoded()), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(blobs, hole.Encoded()), 100<<20); err != nil { // a file with a hole that a layer may have
			t.Fatal(err)
		}
		for _, from := range []string{"oci:" + dir + ":x", "oci-archive:" + file + ":x"} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			store, err := oci.New(oci.Config{}).Open(t.Context(), reference(t, from))
			runtime.ReadMemStats(&after)
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || made > 128 ||
				!strings.Contains(err.Error(), "at most") && !strings.Contains(err.Error(), "of memory") {
				t.Errorf("%s in %s took %d MiB: %v", what, from[:11], made, err)
			}
			if err == nil {
				store.Close()
			}
		}
	}
}
