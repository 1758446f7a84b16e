package oci_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/registry"
)

// TestCredentials: a registry gets the credentials that docker login stored for it, and
// nobody else does: no other registry, and no host that it redirects to. Without them the error
// says how to log in.
func TestCredentials(t *testing.T) {
	handler, err := registry.New(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	storage := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			told.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	host := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		switch {
		case name != "team" || password != "secret":
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
		case r.Method == http.MethodGet && isModule(r):
			http.Redirect(w, r, "http://"+storage+r.URL.Path, http.StatusTemporaryRedirect)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	ref := reference(t, host+"/team/rack-aware:1")
	login := func(config string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("DOCKER_CONFIG", dir)
	}
	const entry = `{"auth": "dGVhbTpzZWNyZXQ="}` // team:secret
	for _, config := range []string{`{}`, `{"auths": {"` + storage + `": ` + entry + `}}`, `{"auths": {"` + host + `": {"auth": "dGVhbTpndWVzcw=="}}}`} {
		login(config)
		store, err := oci.New(oci.Config{}).Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = store.Image(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), "log in with docker login "+host) || strings.Contains(err.Error(), "guess") {
			t.Errorf("with %s: %v", config, err)
		}
	}
	login(`{"auths": {"` + host + `": ` + entry + `}}`)
	expect(t, ref, publish(t, ref))
	if n := told.Load(); n > 0 {
		t.Errorf("the host of the redirect got the credentials %d times", n)
	}
}
