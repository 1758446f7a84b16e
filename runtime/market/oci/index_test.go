package oci_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
)

// publishIndex stores an index with a signature.
func publishIndex(t *testing.T, ref oci.Reference, data []byte) ocispec.Descriptor {
	t.Helper()
	store, err := oci.New(oci.Config{}).Create(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	described, err := store.PushIndex(t.Context(), data, map[string]string{"dev.berth.index.serial": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Index(t.Context(), ref.Name()); err == nil {
		t.Error("an index without a signature has the tag already")
	}
	if _, err := store.Attach(t.Context(), described, oci.Attachment{Type: oci.BundleType, Data: []byte("signature")}); err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(t.Context(), described); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return described
}

func readIndex(t *testing.T, ref oci.Reference) (*oci.Index, error) {
	t.Helper()
	store, err := oci.New(oci.Config{}).Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	return store.Index(t.Context(), ref.Name())
}

// TestIndexPlaces: an index goes from place to place with its signature, and its
// repository lists its tags.
func TestIndexPlaces(t *testing.T) {
	dir := t.TempDir()
	host := serve(t, registry.Config{})
	places := []string{
		host + "/team/index:latest",
		"oci-archive:" + filepath.Join(dir, "gap.tar") + ":index",
		"oci:" + filepath.Join(dir, "layout") + ":index",
		host + "/mirror/index:latest",
	}
	want := publishIndex(t, reference(t, places[0]), []byte("the index"))
	for i, place := range places {
		ref := reference(t, place)
		if i > 0 {
			copied, err := oci.New(oci.Config{}).Copy(t.Context(), reference(t, places[i-1]), ref)
			if err != nil || copied.Digest != want.Digest {
				t.Fatalf("copy to %s: %v, %v", place, copied.Digest, err)
			}
		}
		index, err := readIndex(t, ref)
		if err != nil || string(index.Data) != "the index" || index.Descriptor.Digest != want.Digest {
			t.Fatalf("%s: %+v, %v", place, index, err)
		}
		store, err := oci.New(oci.Config{}).Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		found, lies, err := store.Attachments(t.Context(), index.Descriptor, oci.BundleType)
		if err != nil || len(lies) > 0 || len(found) != 1 || string(found[0].Data) != "signature" {
			t.Errorf("%s: signatures are %v, %v, %v", place, found, lies, err)
		}
		if tags, err := store.Tags(t.Context()); err != nil || !slices.Contains(tags, ref.Tag) {
			t.Errorf("%s: tags are %q, %v", place, tags, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := readIndex(t, reference(t, host+"/team/none")); !errors.Is(err, oci.ErrNoIndex) || !strings.Contains(err.Error(), "there is no index; name an index that") {
		t.Error(err)
	}
	publish(t, reference(t, host+"/team/index:plugin"))
	if _, err := readIndex(t, reference(t, host+"/team/index:plugin")); err == nil || !strings.Contains(err.Error(), `it is not an index of plugins, but of type ""`) {
		t.Error(err)
	}
	if err := open(t.Context(), reference(t, places[0])); err == nil || !strings.Contains(err.Error(), "it has 0 layers of type application/wasm, not one") {
		t.Errorf("an index is loaded as a plugin: %v", err)
	}
}

// TestHostileIndex: what is not the index that its digests name is refused.
func TestHostileIndex(t *testing.T) {
	isIndex := func(honest *httptest.ResponseRecorder) bool { return honest.Body.String() == "the index" }
	for want, attack := range map[string]func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool{
		"its list: its bytes do not have the digest sha256:": func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			return isIndex(honest) && body(w, honest, []byte("THE INDEX"))
		},
		"its list: it is longer than announced": func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !isIndex(honest) {
				return false
			}
			_, _ = w.Write([]byte("the index and"))
			w.(http.Flusher).Flush() // chunked: no length
			_, _ = w.Write([]byte(" more"))
			return true
		},
		"its list: it has 99999999999 bytes, at most 16777216 are allowed": func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			text := bytes.Replace(honest.Body.Bytes(), []byte(`"size":9}`), []byte(`"size":99999999999}`), 1)
			honest.Header().Del("Docker-Content-Digest")
			return strings.HasSuffix(r.URL.Path, "/manifests/latest") && body(w, honest, text)
		},
		"it does not have exactly one layer": func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			text := bytes.Replace(honest.Body.Bytes(), []byte(`"layers":[{"mediaType":"application/vnd.berth`), []byte(`"layers":[{"mediaType":"application/vnd.other`), 1)
			honest.Header().Del("Docker-Content-Digest")
			return strings.HasSuffix(r.URL.Path, "/manifests/latest") && body(w, honest, text)
		},
	} {
		ref, _ := hostile(t, attack)
		ref.Repository, ref.Tag = "team/index", "latest"
		publishIndexQuietly(t, ref)
		index, err := readIndex(t, ref)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %+v, %v, want %q", index, err, want)
		}
	}
	store, err := oci.New(oci.Config{}).Create(t.Context(), reference(t, "oci:"+t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.PushIndex(t.Context(), make([]byte, oci.MaxIndex+1), nil); err == nil || !strings.Contains(err.Error(), "at most 16777216 are allowed") {
		t.Error(err)
	}
}

// publishIndexQuietly stores an index at a registry that attacks whoever reads one.
func publishIndexQuietly(t *testing.T, ref oci.Reference) {
	t.Helper()
	store, err := oci.New(oci.Config{}).Create(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	described, err := store.PushIndex(t.Context(), []byte("the index"), nil)
	if err == nil {
		err = store.Tag(t.Context(), described)
	}
	if err != nil {
		t.Fatal(err)
	}
}
