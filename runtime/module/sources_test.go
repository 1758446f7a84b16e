package module_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
)

// guestModule returns a module that conforms to the ABI.
func guestModule(t *testing.T) []byte {
	t.Helper()
	source, err := filepath.Abs(goodWat)
	if err != nil {
		t.Fatal(err)
	}
	return wat.Compile(t, source, fmt.Sprintf(goodManifest, ""))
}

// server counts its requests.
type server struct {
	*httptest.Server
	requests int
}

func serve(t *testing.T, files map[string]http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests++
		if answer, ok := files[r.URL.Path]; ok {
			answer(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func content(mediaType string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", module.Digest(data))
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(data)
		}
	}
}

func load(s *module.Sources, text string) (*module.Loaded, error) {
	ref, err := module.ParseReference(text)
	if err != nil {
		return nil, err
	}
	l, err := s.Load(context.Background(), ref)
	if err == nil {
		s.Keep(l)
	}
	return l, err
}

// expectError requires an error that contains all parts.
func expectError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want %q", err, part)
		}
	}
}

// TestURL: a module of a web server is fetched once, and its digest is checked.
func TestURL(t *testing.T) {
	data := guestModule(t)
	slow := make(chan struct{})
	defer close(slow)
	s := serve(t, map[string]http.HandlerFunc{
		"/guest.wasm": content("application/wasm", data),
		"/moved.wasm": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/guest.wasm", http.StatusFound) },
		"/slow.wasm":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/huge.wasm": func(w http.ResponseWriter, _ *http.Request) {
			part := make([]byte, 1<<20)
			for range 65 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		},
	})
	dir := filepath.Join(t.TempDir(), "fetched")
	sources := module.NewSources(module.SourcesConfig{Dir: dir, Timeout: time.Hour})
	at := func(path string) string { return s.URL + path + "?digest=" + module.Digest(data) }
	for i, path := range []string{"/moved.wasm", "/guest.wasm"} {
		l, err := load(sources, at(path)+"&name=mine")
		if err != nil {
			t.Fatal(err)
		}
		if l.Name != "mine" || l.Path != s.URL+path || l.Digest != module.Digest(data) || len(l.Warnings) != 0 {
			t.Errorf("%+v", l)
		}
		if s.requests != 2 {
			t.Errorf("%d requests after %d loads, want 2", s.requests, i+1)
		}
	}
	// Others may have changed the stored module.
	files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files are %q, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(sources, at("/guest.wasm")); err != nil || s.requests != 3 {
		t.Errorf("%v after %d requests", err, s.requests)
	}

	const other = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	_, err = load(sources, s.URL+"/guest.wasm?digest="+other)
	expectError(t, err, s.URL+"/guest.wasm: digest: the module has "+module.Digest(data)+", expected "+other)
	_, err = load(sources, s.URL+"/guest.wasm")
	expectError(t, err, "digest: Required value: add the module's digest")
	_, err = module.Load(module.Reference{URL: s.URL + "/guest.wasm"})
	expectError(t, err, "digest: it is missing")
	_, err = load(sources, s.URL+"/none.wasm?digest="+other)
	expectError(t, err, "/none.wasm: module: the server answers 404 Not Found; name a module that can be downloaded without credentials")
	_, err = load(sources, s.URL+"/huge.wasm?digest="+other)
	expectError(t, err, "more than the ", " bytes allowed")
	_, err = load(module.NewSources(module.SourcesConfig{Timeout: 50 * time.Millisecond}), s.URL+"/slow.wasm?digest="+other)
	expectError(t, err, "it was not fetched within 50ms; check that the server answers")
	s.Close()
	_, err = load(module.NewSources(module.SourcesConfig{}), at("/guest.wasm"))
	expectError(t, err, "/guest.wasm: module: ", "connect", "check that the server answers")
	if _, err := load(sources, at("/guest.wasm")); err != nil {
		t.Errorf("a stored module was requested from the server: %v", err)
	}
}

// image returns the manifest of an image with layers.
func image(layers ...string) []byte {
	return fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":%q,"size":2},"layers":[%s]}`, module.Digest([]byte("{}")), strings.Join(layers, ","))
}

func layer(mediaType string, data []byte) string {
	text, _ := json.Marshal(map[string]any{"mediaType": mediaType, "digest": module.Digest(data), "size": len(data)})
	return string(text)
}

// TestTagAndDigest: a tag and a digest that do not agree are refused, whether the module is stored or not.
func TestTagAndDigest(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	one := guestModule(t) // version 1.0.0
	two := numbered(t, one, 2)
	images := map[string][]byte{"stable": one, "next": two, "1.0.0": one, "1.0.0-again": two}
	handlers := map[string]http.HandlerFunc{"/v2/team/guest/blobs/" + module.Digest([]byte("{}")): content("application/octet-stream", []byte("{}"))}
	for tag, data := range images {
		text := image(layer("application/wasm", data))
		handlers["/v2/team/guest/manifests/"+tag] = content(manifest, text)
		handlers["/v2/team/guest/manifests/"+module.Digest(text)] = content(manifest, text)
		handlers["/v2/team/guest/blobs/"+module.Digest(data)] = content("application/octet-stream", data)
	}
	s := serve(t, handlers)
	at := "oci://" + strings.TrimPrefix(s.URL, "http://") + "/team/guest:"
	stored := module.NewSources(module.SourcesConfig{Dir: t.TempDir()})
	for tag := range images {
		if _, err := load(stored, at+tag); err != nil {
			t.Fatal(err)
		}
	}
	pin := "@" + module.Digest(image(layer("application/wasm", one)))
	for name, sources := range map[string]*module.Sources{"stored": stored, "fetched": module.NewSources(module.SourcesConfig{})} {
		for _, text := range []string{"stable?digest=" + module.Digest(one), "1.0.0" + pin, "v1.0.0" + pin, "next" + pin, "stable" + pin + "?digest=" + module.Digest(one)} {
			if _, err := load(sources, at+text); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		for text, want := range map[string]string{
			"next?digest=" + module.Digest(one):              "digest: the module has " + module.Digest(two),
			"2.0.0" + pin:                                    `digest: the module of the digest is version "1.0.0", not that of the tag; name the digest of the version that was meant, or none`,
			"stable" + pin + "?digest=" + module.Digest(two): "digest: the module has " + module.Digest(one),
		} {
			_, err := load(sources, at+text)
			expectError(t, err, want)
		}
	}
	before := s.requests
	for _, text := range []string{"stable", "1.0.0"} { // each named the image
		if _, err := load(stored, at+text+"?digest="+module.Digest(one)); err != nil || s.requests != before {
			t.Errorf("%s: %v after %d requests", text, err, s.requests-before)
		}
	}
}

// TestImage: the module of an image in a registry is fetched; an image named by its digest only
// once.
func TestImage(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // ignore credentials of the user who runs the test
	data := guestModule(t)
	good := image(layer("application/wasm", data))
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	s := serve(t, map[string]http.HandlerFunc{
		"/v2/team/guest/manifests/v1":                           content(manifest, good),
		"/v2/team/guest/manifests/" + module.Digest(good):       content(manifest, good),
		"/v2/team/guest/blobs/" + module.Digest([]byte("{}")):   content("application/octet-stream", []byte("{}")),
		"/v2/team/guest/blobs/" + module.Digest(data):           content("application/octet-stream", data),
		"/v2/team/guest/manifests/two":                          content(manifest, image(layer("application/wasm", data), layer("application/wasm", data))),
		"/v2/team/guest/manifests/other":                        content(manifest, image(layer("application/x-tar", data))),
		"/v2/team/guest/manifests/index":                        content("application/vnd.oci.image.index.v1+json", []byte(`{}`)),
		"/v2/team/guest/manifests/lies":                         content(manifest, image(layer("application/wasm", []byte("lies")))),
		"/v2/team/guest/blobs/" + module.Digest([]byte("lies")): content("application/octet-stream", []byte("LIES")),
		"/v2/team/guest/manifests/secret":                       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
	})
	registry := strings.TrimPrefix(s.URL, "http://") + "/team/guest"
	sources := module.NewSources(module.SourcesConfig{Dir: t.TempDir()})
	l, err := load(sources, "oci://"+registry+":v1?weight=2")
	if err != nil {
		t.Fatal(err)
	}
	if l.Digest != module.Digest(data) || l.Path != "oci://"+registry+":v1" || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "the tag can be moved to another module") {
		t.Errorf("%s of %s, %q", l.Digest, l.Path, l.Warnings)
	}
	pinned := "oci://" + registry + "@" + module.Digest(good)
	if l, err = load(sources, pinned); err != nil || len(l.Warnings) != 0 {
		t.Errorf("%v, %q", err, l.Warnings)
	}
	before := s.requests
	for _, text := range []string{pinned, "oci://" + registry + ":v1?digest=" + module.Digest(data)} {
		if l, err = load(sources, text); err != nil || l.Digest != module.Digest(data) || s.requests != before {
			t.Errorf("%s: %v after %d more requests", text, err, s.requests-before)
		}
	}
	for text, parts := range map[string][]string{
		registry + ":other?digest=" + module.Digest(data): {"it has 0 layers of type application/wasm"}, // a tag is not taken for another's
		registry + ":none":   {"image not found; list the tags with oras repo tags"},
		registry + ":two":    {"it has 2 layers of type application/wasm, not one"},
		registry + ":other":  {"it has 0 layers of type application/wasm, not one (its layers: application/x-tar); push it with"},
		registry + ":index":  {"it is of type application/vnd.oci.image.index.v1+json"},
		registry + ":lies":   {"its module: ", "check that the registry answers"},
		registry + ":secret": {"log in with docker login"},
		"guest":              {"oci://guest: module: ", "write REGISTRY/REPOSITORY:TAG"},
	} {
		_, err := load(sources, "oci://"+text)
		expectError(t, err, parts...)
	}
	_, err = load(sources, "oci://?name=x")
	expectError(t, err, "it names no image; write oci://REGISTRY/REPOSITORY:TAG")
}
