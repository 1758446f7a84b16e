package oci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	store "oras.land/oras-go/v2/content/oci"

	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// TestAnnounced: an image whose manifest announces sizes that no plugin has, or that refers to another
// image, is refused before anything is fetched.
func TestAnnounced(t *testing.T) {
	descriptor := func(kind string, size int64) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, kind, digest.FromString("x"), size)
	}
	module, config := descriptor(oci.LayerMediaType, 6), descriptor(oci.ConfigMediaType, 6)
	for _, c := range []struct{ name, config, layers, rest, want string }{
		{"a plugin", config, module, "", ""},
		{"layers that wrap", config, module + strings.Repeat(","+descriptor("x", 1<<62), 4), "", "its layers: it has 4611686018427387904 bytes"},
		{"a layer that is too large", config, module + "," + descriptor("x", 128<<20+1), "", "its layers: it has 134217729 bytes, at most 134217728"},
		{"a layer of negative size", config, module + "," + descriptor("x", -1), "", "its layers: it has -1 bytes"},
		{"a module of negative size", config, descriptor(oci.LayerMediaType, -1), "", "it has -1 bytes"},
		{"a config of negative size", descriptor(oci.ConfigMediaType, -1), module, "", "its config has -1 bytes"},
		{"too many layers", config, module + strings.Repeat(","+descriptor("x", 0), 16), "", "it has 17 layers, at most 16"},
		{"a subject", config, module, `,"subject":` + descriptor(ocispec.MediaTypeImageManifest, 6), "it refers to another image"},
	} {
		text := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":%s,"layers":[%s]%s}`, ocispec.MediaTypeImageManifest, c.config, c.layers, c.rest)
		_, err := oci.ParseImage(t.Context(), reference(t, "ghcr.io/team/plugin:1"), []byte(text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestEnds: the end of the context ends the reading of a manifest.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text := `{"layers":[` + strings.Repeat("{},", 100_000) + `{}]}`
	if _, err := oci.ParseImage(ctx, reference(t, "ghcr.io/team/plugin:1"), []byte(text)); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Error(err)
	}
}

// TestCopyOfLayers: a layer or config that says that it is an index is copied as it is, without what
// the index names.
func TestCopyOfLayers(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	layout, err := store.New(from)
	if err != nil {
		t.Fatal(err)
	}
	push := func(kind string, data []byte) ocispec.Descriptor {
		t.Helper()
		d := content.NewDescriptorFromBytes(kind, data)
		if err := layout.Push(t.Context(), d, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	object := func(value any) []byte {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	hidden := push("application/octet-stream", []byte("any number of bytes"))
	nested := push(ocispec.MediaTypeImageIndex, object(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{hidden}}))
	image := ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, Config: push(oci.ConfigMediaType, []byte("{}")),
		Layers: []ocispec.Descriptor{push(oci.LayerMediaType, []byte("module")), nested},
	}
	image.SchemaVersion = 2
	root := push(ocispec.MediaTypeImageManifest, object(image))
	if err := layout.Tag(t.Context(), root, "1"); err != nil {
		t.Fatal(err)
	}
	copied, err := oci.New(oci.Config{}).Copy(t.Context(), reference(t, "oci:"+from+":1"), reference(t, "oci:"+to+":1"))
	if err != nil || copied.Digest != root.Digest {
		t.Fatalf("%v, %v", copied, err)
	}
	for d, want := range map[digest.Digest]bool{nested.Digest: true, hidden.Digest: false} {
		if _, err := os.Stat(filepath.Join(to, "blobs", "sha256", d.Encoded())); (err == nil) != want {
			t.Errorf("%s: %v, want it copied: %t", d, err, want)
		}
	}
}

// TestEndlessTags: a list of tags with endlessly many empty pages ends.
func TestEndlessTags(t *testing.T) {
	pages := 0
	ref, _ := hostile(t, func(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") {
			return false
		}
		pages++
		if pages > 2000 { // so that the test ends, too
			return body(w, httptest.NewRecorder(), []byte(`{"name":"team/rack-aware","tags":[]}`))
		}
		w.Header().Set("Link", fmt.Sprintf(`</v2/team/rack-aware/tags/list?last=%d>; rel="next"`, pages))
		return body(w, httptest.NewRecorder(), []byte(`{"name":"team/rack-aware","tags":[]}`))
	})
	opened, err := oci.New(oci.Config{}).Open(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.Tags(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 500 pages") || pages > 600 {
		t.Errorf("%v after %d pages", err, pages)
	}
}

// TestHugeFiles: a file of a layout folder that no plugin has is not read.
func TestHugeFiles(t *testing.T) {
	const size = 256 << 20
	huge := content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, make([]byte, size))
	for _, name := range []string{"index.json", "blobs/sha256/" + huge.Digest.Encoded()} {
		dir := t.TempDir()
		if _, err := store.New(dir); err != nil {
			t.Fatal(err)
		}
		index, err := json.Marshal(ocispec.Index{Manifests: []ocispec.Descriptor{huge}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "index.json"), index, 0o600); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil { // a hole takes no room
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = open(t.Context(), reference(t, "oci:"+dir+":1"))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err == nil || !strings.Contains(err.Error(), "it has 268435456 bytes, at most") || used > 16<<20 {
			t.Errorf("%s: %v, %d bytes allocated", name, err, used)
		}
	}
}
