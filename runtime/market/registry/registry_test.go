package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelabs.dev/go/oci/ociregistry"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

func serve(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	handler, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// send returns the answer's status, location and text.
func send(t *testing.T, method, address string, body []byte) (status int, location, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Location"), string(all)
}

// TestUnfinished: uploads that nobody finishes take bounded memory. The oldest are dropped, and the newest can be finished.
func TestUnfinished(t *testing.T) {
	g, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 16<<20)
	var first, last string
	for i := range 20 {
		w, err := g.PushBlobChunked(context.Background(), "team/plugin", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
		if last = w.ID(); i == 0 {
			first = last
		}
		all := int64(0)
		for _, b := range g.uploads {
			all += b.Size()
		}
		if all > maxUnfinished || len(g.uploads) != len(g.order) {
			t.Fatalf("%d uploads have %d bytes, %d are in order", len(g.uploads), all, len(g.order))
		}
	}
	if _, err := g.PushBlobChunkedResume(context.Background(), "team/plugin", first, 0, 0); err == nil {
		t.Error("the oldest upload is still there")
	}
	w, err := g.PushBlobChunkedResume(context.Background(), "team/plugin", last, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(chunk))
	if _, err := w.Commit(ociregistry.Digest(digest)); err != nil {
		t.Error(err)
	}
	if g.uploads[last] != nil {
		t.Error("a finished upload is still in memory")
	}
}

// TestManifests: a manifest that is too large, or that cannot be decoded, is refused. One that is in the folder all the same hides no other
// referrer of its subject.
func TestManifests(t *testing.T) {
	g, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	empty := ociregistry.Descriptor{MediaType: ocispec.MediaTypeEmptyJSON, Digest: ocispec.DescriptorEmptyJSON.Digest, Size: 2}
	subject := ociregistry.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: "sha256:" + ociregistry.Digest(strings.Repeat("1", 64)), Size: 7}
	manifest := func(annotation string) []byte {
		text, err := json.Marshal(&ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/x", Config: empty,
			Layers: []ociregistry.Descriptor{empty}, Subject: &subject, Annotations: map[string]string{"a": annotation},
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	push := func(text []byte) (ociregistry.Descriptor, error) {
		return g.PushManifest(t.Context(), "team/plugin", "", text, ocispec.MediaTypeImageManifest)
	}
	if _, err := g.PushBlob(t.Context(), "team/plugin", empty, strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	honest, err := push(manifest("x"))
	if err != nil {
		t.Fatal(err)
	}
	large := manifest(strings.Repeat("x", maxManifest))
	bomb := bytes.Replace(manifest(""), []byte(`"layers":[`), []byte(`"layers":[`+strings.Repeat("{},", 1<<20)), 1)
	for _, text := range [][]byte{large, bomb, []byte(`{"layers":{}}`), []byte("{")} {
		if _, err := push(text); !errors.Is(err, ociregistry.ErrManifestInvalid) {
			t.Errorf("%.100s…: pushed with %v", text, err)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	left := errors.New("the client has left")
	cancel(left)
	if _, err := g.PushManifest(ended, "team/plugin", "", manifest("y"), ocispec.MediaTypeImageManifest); !errors.Is(err, left) || errors.Is(err, ociregistry.ErrManifestInvalid) {
		t.Errorf("without its client: pushed with %v", err)
	}
	store, err := g.repository("team/plugin", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{large, bomb} {
		if err := store.Push(t.Context(), content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, text), bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := ociregistry.All(g.Referrers(t.Context(), "team/plugin", subject.Digest, ""))
	if err != nil || len(found) != 1 || found[0].Digest != honest.Digest {
		t.Errorf("referrers: %v, %v", found, err)
	}
}

// TestLinks: symbolic links in the folder do not lead out of it, for blobs, lists and whole repositories, and nothing is written there.
func TestLinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	other := serve(t, outside)
	blob := []byte("secret")
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(blob))
	upload := func(s *httptest.Server) int {
		_, location, _ := send(t, http.MethodPost, s.URL+"/v2/team/plugin/blobs/uploads/", nil)
		if strings.HasPrefix(location, "/") {
			location = s.URL + location
		}
		if location == "" {
			return 0
		}
		mark := "?"
		if strings.Contains(location, "?") {
			mark = "&"
		}
		status, _, _ := send(t, http.MethodPut, location+mark+"digest="+digest, blob)
		return status
	}
	if status := upload(other); status != http.StatusCreated {
		t.Fatal(status)
	}
	path := "/v2/team/plugin/blobs/" + digest
	if status, _, text := send(t, http.MethodGet, other.URL+path, nil); status != http.StatusOK || text != string(blob) {
		t.Fatal(status, text)
	}
	hidden := filepath.Join(outside, "team", "plugin", "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
	for what, link := range map[string]func(at string) error{
		"a repository": func(at string) error { return os.Symlink(filepath.Join(outside, "team"), filepath.Join(at, "team")) },
		"a blob": func(at string) error {
			own := serve(t, at)
			if status := upload(own); status != http.StatusCreated {
				return fmt.Errorf("status %d", status)
			}
			mine := filepath.Join(at, "team", "plugin", "blobs", "sha256", filepath.Base(hidden))
			if err := os.Remove(mine); err != nil {
				return err
			}
			return os.Symlink(hidden, mine)
		},
	} {
		at := filepath.Join(dir, strings.ReplaceAll(what, " ", "-"))
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := link(at); err != nil {
			t.Fatal(what, err)
		}
		s := serve(t, at)
		if status, _, text := send(t, http.MethodGet, s.URL+path, nil); status != http.StatusNotFound || strings.Contains(text, "secret") {
			t.Errorf("%s: %d %s", what, status, text)
		}
		if what == "a repository" {
			if status := upload(s); status == http.StatusCreated {
				t.Errorf("%s: it is written to", what)
			}
		}
	}
}
