package oci_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
)

// TestReferrersAnswers: whatever a registry without a usable referrers API answers, what is attached is found
// under the tag, and if nothing is found, it is said why. The registry keeps lists under tags; the rows say what
// it answers to the API and, instead of a list, under the tag.
func TestReferrersAnswers(t *testing.T) {
	list := func(manifests string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q%s}`, ocispec.MediaTypeImageIndex, manifests)
	}
	foreign := list(fmt.Sprintf(`,"manifests":[{"mediaType":%q,"digest":%q,"size":2,"artifactType":"application/vnd.example.scan"}]`,
		ocispec.MediaTypeImageManifest, digest.FromString("{}")))
	for name, c := range map[string]struct {
		status    int
		body      string
		unlisted  bool   // nothing was attached before
		tag       string // "image" if the tag resolves to the image, or else a media type
		found     int
		lie, fail string
	}{
		"400":                      {status: 400, found: 1},
		"404":                      {status: 404, found: 1},
		"405":                      {status: 405, found: 1},
		"406":                      {status: 406, found: 1},
		"501":                      {status: 501, found: 1},
		"400, nothing attached":    {status: 400, unlisted: true},
		"no such repository":       {status: 404, body: `{"errors":[{"code":"NAME_UNKNOWN"}]}`, fail: "name unknown"},
		"403":                      {status: 403, fail: "what refers to it"},
		"a false empty list":       {status: 200, body: list(`,"manifests":[]`), found: 1, lie: "the registry's referrers API lists nothing, so the list of the tag sha256-"},
		"an empty list":            {status: 200, body: list(`,"manifests":[]`), unlisted: true},
		"null":                     {status: 200, body: list(`,"manifests":null`), found: 1, lie: "the registry's list of what refers to it has no manifests"},
		"null, nothing attached":   {status: 200, body: list(`,"manifests":null`), unlisted: true},
		"no manifests":             {status: 200, body: list(""), unlisted: true, lie: "the registry's list of what refers to it has no manifests"},
		"types of others":          {status: 200, body: foreign, lie: `of other types, which Berth does not read, the registry lists 1 of "application/vnd.example.scan"`},
		"the tag is the image":     {status: 404, unlisted: true, tag: "image", lie: "to the image itself"},
		"the tag is another image": {status: 404, unlisted: true, tag: ocispec.MediaTypeImageManifest, lie: "is of type \"" + ocispec.MediaTypeImageManifest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			honest, err := registry.New(registry.Config{Dir: t.TempDir(), NoReferrers: true})
			if err != nil {
				t.Fatal(err)
			}
			var image ocispec.Descriptor
			scripted := false
			host := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case scripted && strings.Contains(r.URL.Path, "/referrers/"):
					if c.status == http.StatusOK {
						w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
					}
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.body))
					return
				case scripted && strings.HasSuffix(r.URL.Path, "/manifests/sha256-"+image.Digest.Encoded()) && c.tag == "image":
					r.URL.Path = strings.Replace(r.URL.Path, "sha256-", "sha256:", 1)
				case scripted && strings.HasSuffix(r.URL.Path, "/manifests/sha256-"+image.Digest.Encoded()) && c.tag != "":
					w.Header().Set("Content-Type", c.tag)
					w.Header().Set("Docker-Content-Digest", digest.FromString("{}").String())
					_, _ = w.Write([]byte("{}"))
					return
				}
				honest.ServeHTTP(w, r)
			}))
			store, err := oci.New(oci.Config{}).Create(t.Context(), reference(t, host+"/team/rack-aware:1"))
			if err != nil {
				t.Fatal(err)
			}
			pushed, err := store.Push(t.Context(), []byte("module"), manifest())
			if err != nil {
				t.Fatal(err)
			}
			image = pushed.Descriptor
			scripted = !c.unlisted && c.status >= 400 && c.fail == "" // attaching falls back, too
			if !c.unlisted {
				if _, err := store.Attach(t.Context(), image, oci.Attachment{Type: oci.BundleType, Data: []byte("signature")}); err != nil {
					t.Fatal(err)
				}
			}
			scripted = true
			reader, err := oci.New(oci.Config{}).Open(t.Context(), reference(t, host+"/team/rack-aware:1"))
			if err != nil {
				t.Fatal(err)
			}
			found, lies, err := reader.Attachments(t.Context(), image, oci.BundleType)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("error is %v", err)
				}
				return
			}
			if err != nil || len(found) != c.found {
				t.Fatalf("found %d, %v, %v; want %d", len(found), lies, err, c.found)
			}
			if text := fmt.Sprint(lies); c.lie == "" && len(lies) > 0 || !strings.Contains(text, c.lie) {
				t.Errorf("lies are %v, want %q", lies, c.lie)
			}
		})
	}
}

// TestPushNamesItsTag: when a registry refuses a part of a push, the error names the tag, also one that was taken
// from the version.
func TestPushNamesItsTag(t *testing.T) {
	for _, part := range []string{"/blobs/uploads/", "/manifests/sha256:", "/manifests/1.2.0"} {
		t.Run(part, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			honest, err := registry.New(registry.Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			host := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet && r.Method != http.MethodHead && strings.Contains(r.URL.Path, part) {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				honest.ServeHTTP(w, r)
			}))
			store, err := oci.New(oci.Config{}).Create(t.Context(), reference(t, host+"/team/rack-aware"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = store.Push(t.Context(), []byte("module"), manifest()); err == nil || !strings.HasPrefix(err.Error(), host+"/team/rack-aware:1.2.0: ") {
				t.Errorf("error is %v", err)
			}
		})
	}
}
