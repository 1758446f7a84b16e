package oci_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
)

// serve serves a folder as a registry and returns its HOST:PORT.
func serve(t *testing.T, c registry.Config) string {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // ignore credentials of the user who runs the test
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	handler, err := registry.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, handler)
}

func listen(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func reference(t *testing.T, text string) oci.Reference {
	t.Helper()
	ref, err := oci.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func manifest() *wire.Manifest {
	return &wire.Manifest{
		Name: "rack-aware", Version: "1.2.0", Publisher: "Example", License: "Apache-2.0", ABI: "1.0",
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}, Score: &wire.ManifestPoint{}},
	}
}

// publish pushes a module with an attachment and returns the image's descriptor.
func publish(t *testing.T, ref oci.Reference) ocispec.Descriptor {
	t.Helper()
	store, err := oci.New(oci.Config{}).Create(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	image, err := store.Push(t.Context(), []byte("module"), manifest())
	if err != nil {
		t.Fatal(err)
	}
	described := image.Descriptor
	if _, err := store.Attach(t.Context(), described, oci.Attachment{Type: oci.ReadmeType, Data: []byte("# Rack aware\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Attach(t.Context(), described, oci.Attachment{Type: oci.LicenseType, Data: []byte("Apache\n")}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return described
}

// expect reads an image back and compares it with what publish stored.
func expect(t *testing.T, ref oci.Reference, want ocispec.Descriptor) {
	t.Helper()
	store, err := oci.New(oci.Config{}).Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	image, err := store.Image(t.Context(), ref.Name())
	if err != nil {
		t.Fatal(err)
	}
	if image.Descriptor.Digest != want.Digest {
		t.Errorf("%s has %s, want %s", ref, image.Descriptor.Digest, want.Digest)
	}
	if err := image.CheckAnnotations(manifest()); err != nil {
		t.Error(err)
	}
	data, err := store.Module(t.Context(), image)
	if err != nil || string(data) != "module" {
		t.Errorf("module is %q, %v", data, err)
	}
	found, lies, err := store.Attachments(t.Context(), image.Descriptor, oci.ReadmeType)
	if err != nil || len(lies) != 0 || len(found) != 1 || string(found[0].Data) != "# Rack aware\n" {
		t.Errorf("%s: readme is %+v, lies %v, %v", ref, found, lies, err)
	}
}

// TestPlaces: an image is the same in every place, and is copied with its attachments, also to
// registries without the referrers API.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	with, without := serve(t, registry.Config{}), serve(t, registry.Config{NoReferrers: true})
	places := []string{
		with + "/team/rack-aware:1.2.0",
		"oci-archive:" + filepath.Join(dir, "gap.tar") + ":1.2.0",
		without + "/mirror/rack-aware:v1",
		"oci:" + filepath.Join(dir, "layout") + ":1.2.0",
		with + "/back/rack-aware:1.2.0",
	}
	want := publish(t, reference(t, places[0]))
	for i := 1; i < len(places); i++ {
		from, to := reference(t, places[i-1]), reference(t, places[i])
		if _, err := oci.New(oci.Config{}).Copy(t.Context(), from, to); err != nil {
			t.Fatalf("copy %s to %s: %v", from, to, err)
		}
		expect(t, to, want)
		expect(t, to.At(want.Digest), want)
	}
	for _, place := range places[1:] {
		place = strings.Replace(place, "1.2.0", "direct", 1)
		place = strings.Replace(place, "layout", "layout2", 1)
		if got := publish(t, reference(t, place)); got.Digest != want.Digest {
			t.Errorf("%s: the same module has the image %s, elsewhere %s", place, got.Digest, want.Digest)
		}
		expect(t, reference(t, place), want)
	}
	// A tarball keeps its images.
	expect(t, reference(t, places[1]), want)
}

// TestServedFolder: a restarted registry still has its images, and its folders are layouts that
// are readable without it.
func TestServedFolder(t *testing.T) {
	dir := t.TempDir()
	want := publish(t, reference(t, serve(t, registry.Config{Dir: dir})+"/team/rack-aware:1"))
	expect(t, reference(t, serve(t, registry.Config{Dir: dir})+"/team/rack-aware:1"), want)
	expect(t, reference(t, "oci:"+filepath.Join(dir, "team", "rack-aware")+":1"), want)
}

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		"ghcr.io/team/plugin":               "ghcr.io/team/plugin:latest",
		"oci://localhost:5000/a/b:v1":       "localhost:5000/a/b:v1",
		"ghcr.io/team/plugin@" + digest:     "ghcr.io/team/plugin@" + digest,
		"ghcr.io/team/plugin:v1@" + digest:  "ghcr.io/team/plugin@" + digest,
		"oci:dir":                           "oci:dir:latest",
		"oci:/a:b/dir:v1":                   "oci:/a:b/dir:v1",
		"oci-archive:gap.tar:1.0.0":         "oci-archive:gap.tar:1.0.0",
		"oci:dir:v1@" + digest:              "oci:dir@" + digest,
		"plugin":                            "!",
		"ghcr.io/UPPER/x":                   "!",
		"oci:":                              "!no file",
		"oci:dir:v 1":                       "!not a tag",
		"oci:dir@sha256:12":                 "!sha256",
		"ghcr.io/a@sha512:" + digest[7:]:    "!",
		"oci-archive::v1":                   "!",
		"ghcr.io/a/../../etc/passwd:latest": "!",
	} {
		ref, err := oci.ParseReference(text)
		switch detail, refused := strings.CutPrefix(want, "!"); {
		case refused && (err == nil || !strings.Contains(err.Error(), detail)):
			t.Errorf("%s: %v, %v; want an error with %q", text, ref, err, detail)
		case !refused && (err != nil || ref.String() != want):
			t.Errorf("%s: %v, %v; want %s", text, ref, err, want)
		}
	}
}

// TestAttachAmongOthers: without the referrers API, other clients may overwrite the list of
// attachments; Attach writes its entry again.
func TestAttachAmongOthers(t *testing.T) {
	handler, err := registry.New(registry.Config{Dir: t.TempDir(), NoReferrers: true})
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	host := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256-") && lost < 2 {
			lost++ // another client wrote its own list right after ours
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(http.StatusCreated)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	ref := reference(t, host+"/team/rack-aware:1")
	want := publish(t, ref)
	expect(t, ref, want)
	if lost != 2 {
		t.Errorf("the list was lost %d times, want 2", lost)
	}
}

// TestVagueLists: attachments are found even if a registry lists artifacts without a type, or
// with the type of their config.
func TestVagueLists(t *testing.T) {
	for _, listed := range []string{"", "application/vnd.oci.empty.v1+json"} {
		ref, want := hostile(t, func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !strings.Contains(r.URL.Path, "/referrers/") {
				return false
			}
			var index ocispec.Index
			if err := json.Unmarshal(honest.Body.Bytes(), &index); err != nil {
				t.Error(err)
			}
			for i := range index.Manifests {
				index.Manifests[i].ArtifactType = listed
			}
			text, err := json.Marshal(index)
			if err != nil {
				t.Error(err)
			}
			honest.Header().Del("OCI-Filters-Applied")
			return body(w, honest, text)
		})
		expect(t, ref, want)
	}
}

// TestErrors: errors say what is wrong and where.
func TestErrors(t *testing.T) {
	host := serve(t, registry.Config{})
	publish(t, reference(t, host+"/team/rack-aware:1"))
	text := filepath.Join(t.TempDir(), "text.tar")
	if err := os.WriteFile(text, []byte(strings.Repeat("text", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, detail := range map[string]string{
		host + "/team/rack-aware:2":                  "team/rack-aware:2: image not found; list the tags with oras repo tags " + host + "/team/rack-aware",
		host + "/team/none:1":                        "image not found",
		"oci:" + filepath.Join(t.TempDir(), "none"):  "no such file",
		"oci:" + t.TempDir():                         "it is not an OCI layout",
		"oci-archive:" + text:                        "it is not a tarball",
		"oci-archive:" + filepath.Join(text, "none"): "none",
	} {
		if err := open(t.Context(), reference(t, ref)); err == nil || !strings.Contains(err.Error(), detail) {
			t.Errorf("%s: %v, want %q", ref, err, detail)
		}
	}
}

// open gets an image's module.
func open(ctx context.Context, ref oci.Reference) error {
	store, err := oci.New(oci.Config{}).Open(ctx, ref)
	if err != nil {
		return err
	}
	defer store.Close()
	image, err := store.Image(ctx, ref.Name())
	if err != nil {
		return err
	}
	_, err = store.Module(ctx, image)
	return err
}
