package module_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/module"
)

// TestPasses: a server that does not answer, or is busy, may answer later. What it answers may not change.
func TestPasses(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	guest := guestModule(t)
	says := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }
	}
	s := serve(t, map[string]http.HandlerFunc{
		"/busy.wasm": says(503), "/secret.wasm": says(403), "/other.wasm": content("application/wasm", []byte("other")),
		"/slow.wasm":                   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/v2/team/secret/manifests/v1": says(403), "/v2/team/slow/manifests/v1": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	})
	gone := serve(t, nil)
	gone.Close()
	digest := "?digest=" + module.Digest(guest)
	image := func(s *server, name string) string {
		return "oci://" + strings.TrimPrefix(s.URL, "http://") + "/team/" + name
	}
	timeouts := map[bool]time.Duration{true: 300 * time.Millisecond} // of servers that do not answer; others have the default
	for text, want := range map[string]bool{
		s.URL + "/busy.wasm" + digest: true, gone.URL + "/guest.wasm" + digest: true, s.URL + "/slow.wasm" + digest: true,
		s.URL + "/secret.wasm" + digest: false, s.URL + "/other.wasm" + digest: false, s.URL + "/absent.wasm" + digest: false,
		image(gone, "guest:v1"): true, image(s, "slow:v1"): true, image(s, "secret:v1"): false, image(s, "absent:v1"): false,
	} {
		ref, err := module.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = module.NewSources(module.SourcesConfig{Timeout: timeouts[strings.Contains(text, "slow")]}).Load(context.Background(), ref)
		if err == nil || module.Passes(err) != want {
			t.Errorf("%s: passes is not %v: %v", text, want, err)
		}
	}
}
