package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// FuzzTarball: any tarball is either refused with a short text, or read only from its folder,
// and the digests of its images are correct. The checksums of its headers are made right, as
// almost all of what a fuzzer changes would otherwise end there.
func FuzzTarball(f *testing.F) {
	dir := f.TempDir()
	for i, names := range [][]string{{"oci-layout", "index.json"}, {"../x"}, {"index.json", "index.json"}} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, name := range names {
			data := []byte(`{"imageLayoutVersion":"1.0.0","schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"annotations":{"org.opencontainers.image.ref.name":"latest"}}]}`)
			if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(data)), Mode: 0o644}); err != nil {
				f.Fatal(err)
			}
			if _, err := w.Write(data); err != nil {
				f.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			f.Fatal(i, err)
		}
		f.Add(out.Bytes())
	}
	path := filepath.Join(dir, "fuzzed.tar")
	f.Fuzz(func(t *testing.T, data []byte) {
		data = checksummed(data)
		ref := Reference{Archive: path}
		err := checkTar(t.Context(), ref, bytes.NewReader(data))
		var store *Store
		if err == nil { // few come so far, and a file takes time
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			store, err = New(Config{}).Open(t.Context(), ref)
		}
		var image *Image
		if err == nil {
			image, err = store.Image(t.Context(), DefaultTag)
		}
		if err == nil {
			_, err = store.Module(t.Context(), image)
		}
		if err != nil && len(err.Error()) > maxRef+maxDetail+512 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	})
}

// checksummed returns a tarball with right checksums in its headers, as far as it can be
// followed.
func checksummed(data []byte) []byte {
	const block, checksum, size = 512, 148, 124
	data = bytes.Clone(data)
	for at := 0; at+block <= len(data); {
		header := data[at : at+block]
		copy(header[checksum:], "        ")
		sum := 0
		for _, b := range header {
			sum += int(b)
		}
		if sum == len("        ")*' ' {
			clear(header) // the end
			return data
		}
		copy(header[checksum:], fmt.Sprintf("%06o\x00 ", sum))
		n, err := strconv.ParseUint(strings.Trim(string(header[size:size+12]), " \x00"), 8, 24)
		if err != nil {
			return data
		}
		at += block + (int(n)+block-1)/block*block
	}
	return data
}

// FuzzReference: a reference is unchanged after it is written and parsed again.
func FuzzReference(f *testing.F) {
	for _, text := range []string{"ghcr.io/a/b:1", "oci:dir:1", "oci-archive:a:b/c:1@sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseReference(text)
		if err != nil {
			return
		}
		again, err := ParseReference(ref.String())
		if err != nil || again.Place() != ref.Place() || again.Name() != ref.Name() {
			t.Errorf("%q is read as %+v, and that as %+v, %v", text, ref, again, err)
		}
	})
}
