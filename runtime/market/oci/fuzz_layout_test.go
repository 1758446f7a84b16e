package oci

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// FuzzLayout: any folder of an image layout is refused with a short text or read, and nothing is read outside of it. DIGEST and SIZE
// of an index stand for those of the manifest, as almost all of what a fuzzer changes would otherwise end there; in a manifest they
// stand for those of the module.
func FuzzLayout(f *testing.F) {
	const (
		index = `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"DIGEST","size":SIZE,` +
			`"annotations":{"org.opencontainers.image.ref.name":"latest"}}]}`
		manifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
			`"artifactType":"application/vnd.wasm.config.v0+json",` +
			`"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"DIGEST","size":SIZE},` +
			`"layers":[{"mediaType":"application/wasm","digest":"DIGEST","size":SIZE}]}`
		layout = `{"imageLayoutVersion":"1.0.0"}`
	)
	f.Add(layout, index, manifest, "\x00asm\x01\x00\x00\x00")
	f.Add(layout, index, strings.Replace(manifest, "DIGEST", "sha256:../../../secret", 1), "{}")
	f.Add(layout, strings.Replace(index, "DIGEST", "sha256:..", 1), index, "{}")
	dir := f.TempDir()
	blobs := filepath.Join(dir, "layout", "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		f.Fatal(err)
	}
	const secret = "a file beside the folder"
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, layout, index, manifest, module string) {
		var written []string
		write := func(path, text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			written = append(written, path)
		}
		blob := func(text string) *strings.Replacer {
			d := digest.FromString(text)
			write(filepath.Join(blobs, d.Encoded()), text)
			return strings.NewReplacer("DIGEST", d.String(), "SIZE", strconv.Itoa(len(text)))
		}
		manifest = blob(module).Replace(manifest)
		index = blob(manifest).Replace(index)
		write(filepath.Join(dir, "layout", "index.json"), index)
		write(filepath.Join(dir, "layout", "oci-layout"), layout)
		store, err := New(Config{}).Open(t.Context(), Reference{Dir: filepath.Join(dir, "layout")})
		var image *Image
		if err == nil {
			image, err = store.Image(t.Context(), DefaultTag)
		}
		var data []byte
		if err == nil {
			data, err = store.Module(t.Context(), image)
		}
		if err == nil && string(data) != module && string(data) != manifest && string(data) != index {
			t.Errorf("a module of %d bytes is read that is not in the folder", len(data))
		}
		if err != nil && (len(err.Error()) > maxRef+maxDetail+512 || strings.Contains(err.Error(), secret)) {
			t.Errorf("the error has %d bytes: %v", len(err.Error()), err)
		}
		for _, path := range written {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // two blobs may be the same
				t.Fatal(err)
			}
		}
	})
}
