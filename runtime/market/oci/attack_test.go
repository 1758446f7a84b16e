package oci_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
)

// hostile serves a registry whose answers attack may change. attack gets the request and the
// answer of an honest registry; if it returns false, the answer is sent unchanged.
func hostile(t *testing.T, attack func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool) (oci.Reference, ocispec.Descriptor) {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	attacking := false
	host := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !attacking {
			handler.ServeHTTP(w, r)
			return
		}
		honest := httptest.NewRecorder()
		handler.ServeHTTP(honest, r)
		if attack(w, r, honest) {
			return
		}
		for key, values := range honest.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(honest.Code)
		_, _ = w.Write(honest.Body.Bytes())
	}))
	ref := reference(t, host+"/team/rack-aware:1")
	described := publish(t, ref)
	attacking = true
	return ref, described
}

// body sends other bytes than the honest ones, with the same headers except for the length.
func body(w http.ResponseWriter, honest *httptest.ResponseRecorder, data []byte) bool {
	for key, values := range honest.Header() {
		w.Header()[key] = values
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.WriteHeader(honest.Code)
	_, _ = w.Write(data)
	return true
}

func isModule(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, digest.FromString("module").String())
}

// TestHostileRegistry: whatever a registry answers, the module has the expected digest, or the
// error says what is wrong.
func TestHostileRegistry(t *testing.T) {
	for name, c := range map[string]struct {
		attack func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool
		want   string
	}{
		"config changed": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			isConfig := strings.Contains(r.URL.Path, "/blobs/") && bytes.Contains(honest.Body.Bytes(), []byte(`"architecture":"wasm"`))
			return isConfig && body(w, honest, bytes.Replace(honest.Body.Bytes(), []byte(`"author":"Example"`), []byte(`"author":"Exampel"`), 1))
		}, "its config: its bytes do not have the digest sha256:"},
		"layer changed": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			return isModule(r) && body(w, honest, []byte("MODULE"))
		}, "its bytes do not have the digest sha256:"},
		"layer longer than announced": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !isModule(r) {
				return false
			}
			w.Header().Set("Content-Type", "application/octet-stream") // chunked: no length
			_, _ = w.Write([]byte("module"))
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte(" and more"))
			return true
		}, "it is longer than announced"},
		"layer shorter than announced": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !isModule(r) {
				return false
			}
			_, _ = w.Write([]byte("mod"))
			w.(http.Flusher).Flush()
			return true
		}, "it is shorter than announced"},
		"layer of another length": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			return isModule(r) && body(w, honest, []byte("mod"))
		}, "mismatch Content-Length"},
		"module that is packed": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !isModule(r) {
				return false
			}
			honest.Header().Set("Content-Encoding", "gzip") // must not be unpacked, whatever the header says
			return body(w, honest, []byte("\x1f\x8bbomb"))
		}, "its bytes do not have the digest sha256:"},
		"tag moved, digest of the old": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			return strings.HasSuffix(r.URL.Path, "/manifests/1") && body(w, honest, bytes.Replace(honest.Body.Bytes(), []byte("1.2.0"), []byte("1.2.1"), 1))
		}, "digest"},
		"huge manifest": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !strings.HasSuffix(r.URL.Path, "/manifests/1") {
				return false
			}
			text := append(honest.Body.Bytes(), bytes.Repeat([]byte(" "), 70<<10)...)
			honest.Header().Set("Docker-Content-Digest", digest.FromBytes(text).String())
			return body(w, honest, text)
		}, "at most 65536 are allowed"},
		"redirect to metadata": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
			return true
		}, "169.254.169.254 is a link-local or metadata address, which no registry has"},
		"redirect to link-local IPv6": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			http.Redirect(w, r, "http://[fe80::1]/", http.StatusTemporaryRedirect)
			return true
		}, "fe80::1 is a link-local or metadata address"},
		"endless redirects": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
			return true
		}, "stopped after 10 redirects"},
		"token from metadata": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			w.Header().Set("Www-Authenticate", `Bearer realm="http://169.254.169.254/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}, `bearer realm host "169.254.169.254" is a loopback, link-local`},
		"terminal escapes": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"\u001b[2J\u001b]0;owned\u0007` + strings.Repeat("x", 5000) + `"}]}`))
			return true
		}, "log in with docker login 127.0.0.1"},
		"no more answers": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			<-r.Context().Done()
			return true
		}, "no answer in time; check that the registry answers"},
		"a byte from time to time": {func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
			if !isModule(r) {
				return false
			}
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("m"))
				w.(http.Flusher).Flush()
				time.Sleep(100 * time.Millisecond)
				if r.ContentLength > 6 {
					break
				}
			}
			return true
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ref, _ := hostile(t, c.attack)
			ctx := t.Context()
			if strings.Contains(name, "no more") || strings.Contains(name, "time to time") {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
			}
			err := open(ctx, ref)
			switch {
			case err == nil:
				t.Fatal("no error")
			case !strings.Contains(err.Error(), c.want):
				t.Errorf("error is %v, want %q", err, c.want)
			case strings.ContainsAny(err.Error(), "\x1b\x07") || len(err.Error()) > 3<<10:
				t.Errorf("the error has %d bytes, unescaped: %q", len(err.Error()), err)
			}
		})
	}
}

// TestLyingReferrers: an artifact that is listed but refers to something else is not attached,
// and lies says why.
func TestLyingReferrers(t *testing.T) {
	var listed []ocispec.Descriptor
	ref, described := hostile(t, func(w http.ResponseWriter, r *http.Request, honest *httptest.ResponseRecorder) bool {
		if !strings.Contains(r.URL.Path, "/referrers/") {
			return false
		}
		text, err := json.Marshal(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: listed})
		if err != nil {
			t.Error(err)
		}
		return body(w, honest, text)
	})
	store, err := oci.New(oci.Config{}).Create(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	other := ocispec.Descriptor{MediaType: described.MediaType, Digest: digest.FromString("another image"), Size: 13}
	attach := func(subject ocispec.Descriptor, kind, text string) ocispec.Descriptor {
		t.Helper()
		// The lying list has no manifests, so the stored attachment is not found.
		_, err := store.Attach(t.Context(), subject, oci.Attachment{Type: kind, Data: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), "was stored, but the registry does not list it: the registry's list of what refers to it has no manifests") {
			t.Fatalf("error is %v", err)
		}
		raw := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"artifactType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[{"mediaType":%q,"digest":%q,"size":%d}],"subject":{"mediaType":%q,"digest":%q,"size":%d}}`,
			ocispec.MediaTypeImageManifest, kind, digest.FromString("{}"), kind, digest.FromString(text), len(text), subject.MediaType, subject.Digest, subject.Size)
		return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: oci.BundleType, Digest: digest.FromString(raw), Size: int64(len(raw))}
	}
	good := attach(described, oci.BundleType, "signature")
	foreign := attach(other, oci.BundleType, "signature of another")
	wrongType := attach(described, oci.SBOMType, "no signature")
	missing := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: oci.BundleType, Digest: digest.FromString("nothing"), Size: 7}
	longer := good
	longer.Size++
	listed = []ocispec.Descriptor{good, foreign, wrongType, missing, longer}
	found, lies, err := store.Attachments(t.Context(), described, oci.BundleType)
	if err != nil || len(found) != 1 || string(found[0].Data) != "signature" {
		t.Fatalf("found %+v, %v, %v", found, lies, err)
	}
	for i, want := range []string{"it refers to another image", "it is of type \"application/vnd.cyclonedx+json\"", "image not found", ""} {
		if i >= len(lies) || !strings.Contains(lies[i].Error(), want) {
			t.Errorf("lies are %v, want %q as number %d", lies, want, i)
		}
	}
	listed = nil
	for i := range 100 {
		listed = append(listed, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: oci.BundleType, Digest: digest.FromString(fmt.Sprint(i)), Size: 1})
	}
	if _, _, err := store.Attachments(t.Context(), described, oci.BundleType); err == nil || !strings.Contains(err.Error(), "more than 64 artifacts of type") {
		t.Errorf("error is %v", err)
	}
}

// TestGuard: a remote server cannot redirect the client to internal addresses.
func TestGuard(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	defer inside.Close()
	client := &http.Client{Transport: oci.NewTransport()}
	for named, want := range map[string]string{
		"registry.example": "the server sends the client on to 127.0.0.1:",
		"":                 "the server sends the client on to 127.0.0.1:",
		"127.0.0.1":        "",
		"localhost":        "",
	} {
		r, err := http.NewRequestWithContext(oci.Named(t.Context(), named), http.MethodGet, inside.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err == nil {
			response.Body.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("from %q: %v, want %q", named, err, want)
		}
	}
	r, err := http.NewRequestWithContext(oci.Named(t.Context(), "registry.example"), http.MethodGet, "http://elsewhere.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "the server sends the client on to elsewhere.example, which cannot be asked"
	if _, err := client.Do(r); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a redirect from TLS to plain HTTP: %v", err)
	}
}

// TestAnnotations: an image whose annotations contradict its module is refused.
func TestAnnotations(t *testing.T) {
	image := &oci.Image{Ref: reference(t, "ghcr.io/team/plugin:1"), Annotations: oci.Annotations(manifest())}
	image.Descriptor.Digest = digest.FromString("image")
	if err := image.CheckAnnotations(manifest()); err != nil {
		t.Error(err)
	}
	for key, m := range map[string]*wire.Manifest{
		"org.opencontainers.image.title":    {Name: "rack-aware2", Version: "1.2.0", Publisher: "Example", License: "Apache-2.0", ABI: "1.0", Points: manifest().Points},
		"org.opencontainers.image.version":  {Name: "rack-aware", Version: "1.1.0", Publisher: "Example", License: "Apache-2.0", ABI: "1.0", Points: manifest().Points},
		"org.opencontainers.image.vendor":   {Name: "rack-aware", Version: "1.2.0", License: "Apache-2.0", ABI: "1.0", Points: manifest().Points},
		"org.opencontainers.image.licenses": {Name: "rack-aware", Version: "1.2.0", Publisher: "Example", License: "MIT", ABI: "1.0", Points: manifest().Points},
		"dev.berth.plugin.points":           {Name: "rack-aware", Version: "1.2.0", Publisher: "Example", License: "Apache-2.0", ABI: "1.0"},
		"dev.berth.plugin.abi":              {Name: "rack-aware", Version: "1.2.0", Publisher: "Example", License: "Apache-2.0", ABI: "1.1", Points: manifest().Points},
	} {
		if err := image.CheckAnnotations(m); err == nil || !strings.Contains(err.Error(), "its annotation "+key+" is ") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestHostileTarballs: a tarball may only contain files of a layout.
func TestHostileTarballs(t *testing.T) {
	file := func(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	for want, headers := range map[string][]*tar.Header{
		`"../outside" is not a file of an OCI layout`:                           {file("../outside")},
		`"/etc/passwd" is not a file of an OCI layout`:                          {file("/etc/passwd")},
		`"blobs/sha256/../../x" is not a file of an OCI layout`:                 {file("blobs/sha256/../../x")},
		`"index.json" is not a regular file: links and devices are refused`:     {{Name: "index.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		`"oci-layout" is not a regular file: links and devices are refused`:     {{Name: "oci-layout", Typeflag: tar.TypeLink, Linkname: "index.json"}},
		`"blobs/sha256/pipe" is not a regular file: links and devices are refu`: {{Name: "blobs/sha256/pipe", Typeflag: tar.TypeFifo}},
		`"./index.json" appears twice`:                                          {file("index.json"), file("./index.json")},
		`"\x1b[2J" is not a file of an OCI layout`:                              {file("\x1b[2J")},
		`it is not an OCI layout`:                                               {file("index.json")},
	} {
		path := filepath.Join(t.TempDir(), "hostile.tar")
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, h := range headers {
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		ref := reference(t, "oci-archive:"+path)
		if err := open(t.Context(), ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read: %v, want %q", err, want)
		}
		if store, err := oci.New(oci.Config{}).Create(t.Context(), ref); err == nil {
			t.Errorf("write: no error, want %q", want)
			store.Close()
		}
	}
}
