package module_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/module"
)

// numbered returns the good module with other bytes.
func numbered(t *testing.T, data []byte, n int) []byte {
	t.Helper()
	out, err := wire.AppendCustomSection(data, "n", fmt.Append(nil, n))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// onDisk counts what the files of a folder take, in blocks of 4 KiB.
func onDisk(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += (max(0, info.Size()-1)/4096 + 1) * 4096
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCacheSize: 1,000 modules are fetched, and the folder never takes more than it may. What is in
// use need not be fetched again.
func TestCacheSize(t *testing.T) {
	guest := guestModule(t)
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d.wasm", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(numbered(t, guest, n))
	}))
	defer s.Close()
	const size = 256 << 10
	dir, running := t.TempDir(), ""
	sources := module.NewSources(module.SourcesConfig{Dir: dir, Size: size, InUse: func(digest string) bool { return digest == running }})
	fetch := func(n int) {
		t.Helper()
		l, err := load(sources, fmt.Sprintf("%s/%d.wasm?digest=%s", s.URL, n, module.Digest(numbered(t, guest, n))))
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			running = l.Digest
		}
	}
	for n := range 1000 {
		fetch(n)
		if got := onDisk(t, dir); got > size {
			t.Fatalf("%d bytes after %d modules, at most %d may be", got, n+1, size)
		}
	}
	if requests != 1000 {
		t.Fatalf("%d requests", requests)
	}
	fetch(999)
	fetch(0)
	if requests != 1000 {
		t.Error("the last module, or one in use, was fetched again")
	}
	fetch(1)
	if requests != 1001 {
		t.Error("the folder holds more than it can")
	}
}

// TestRefusedIsNotKept: a module that anything refuses leaves nothing behind, and neither does one
// that nobody keeps.
func TestRefusedIsNotKept(t *testing.T) {
	guest := guestModule(t)
	odd := []byte("no module")
	s := serve(t, map[string]http.HandlerFunc{"/guest.wasm": content("application/wasm", guest), "/odd.wasm": content("application/wasm", odd)})
	at := s.URL + "/guest.wasm?digest=" + module.Digest(guest)
	empty, err := lock.Parse([]byte("apiVersion: berth.dev/v1alpha1\nkind: Lock\nplugins: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config module.SourcesConfig
		text   string
		limits module.Limits
	}{
		"policy":        {module.SourcesConfig{Policy: requires(t, generate(t), "")}, at, module.Limits{}},
		"lock":          {module.SourcesConfig{Lock: empty}, at, module.Limits{}},
		"configuration": {module.SourcesConfig{}, at, module.Limits{ConfigSize: 1}},
		"size":          {module.SourcesConfig{}, at, module.Limits{ModuleSize: 10}},
		"digest":        {module.SourcesConfig{}, s.URL + "/odd.wasm?digest=" + module.Digest(guest), module.Limits{}},
		"checks":        {module.SourcesConfig{}, s.URL + "/odd.wasm?digest=" + module.Digest(odd), module.Limits{}},
		"":              {module.SourcesConfig{}, at, module.Limits{}},
	} {
		c.config.Dir = t.TempDir()
		ref, err := module.ParseReference(c.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ref.Limits = c.limits
		if name == "lock" { // which does not cover tenants
			tenants := ref
			tenants.Tenant = "team-a"
			if _, err := module.NewSources(c.config).Load(t.Context(), tenants); err != nil {
				t.Error(err)
			}
		}
		l, err := module.NewSources(c.config).Load(t.Context(), ref)
		if (err != nil) != (name != "") {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		if got := onDisk(t, c.config.Dir); got != 0 {
			t.Errorf("%s: %d bytes are left", name, got)
		}
	}
}

// TestFetchSize: no more of a module is read than may be used.
func TestFetchSize(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	guest := guestModule(t)
	large, err := wire.AppendCustomSection(guest, "large", make([]byte, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	manifest := image(layer("application/wasm", large))
	const mediaType = "application/vnd.oci.image.manifest.v1+json"
	written := 0
	blob := func(announced bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if announced {
				w.Header().Set("Content-Length", fmt.Sprint(len(large)))
			}
			for at := 0; at < len(large); at += 64 << 10 {
				n, err := w.Write(large[at:min(len(large), at+64<<10)])
				if written += n; err != nil {
					return
				}
			}
		}
	}
	done := make(chan struct{}, 100)
	ended := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			defer func() { done <- struct{}{} }()
			h(w, r)
		}
	}
	s := serve(t, map[string]http.HandlerFunc{
		"/announced.wasm": ended(blob(true)), "/chunked.wasm": ended(blob(false)),
		"/v2/team/guest/manifests/v1":                         content(mediaType, manifest),
		"/v2/team/guest/blobs/" + module.Digest([]byte("{}")): content("application/octet-stream", []byte("{}")),
		"/v2/team/guest/blobs/" + module.Digest(large):        blob(true),
	})
	for text, sent := range map[string]bool{
		s.URL + "/announced.wasm?digest=" + module.Digest(large):           true,
		s.URL + "/chunked.wasm?digest=" + module.Digest(large):             true,
		"oci://" + strings.TrimPrefix(s.URL, "http://") + "/team/guest:v1": false,
	} {
		ref, err := module.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		ref.Limits.ModuleSize, written = 64<<10, 0
		_, err = module.NewSources(module.SourcesConfig{}).Load(t.Context(), ref)
		expectError(t, err, "allowed; raise limits.moduleSize")
		if sent {
			<-done
		}
		if written > 6<<20 { // what the connection buffers
			t.Errorf("%s: %d bytes were sent", text, written)
		}
		ref.Limits.ModuleSize = len(large)
		if _, err = module.NewSources(module.SourcesConfig{}).Load(t.Context(), ref); err != nil {
			t.Error(err)
		}
		if sent {
			<-done
		}
	}
}

// TestDamagedFile: a stored file that is damaged is removed, and the module is fetched again.
func TestDamagedFile(t *testing.T) {
	guest := guestModule(t)
	s := serve(t, map[string]http.HandlerFunc{"/guest.wasm": content("application/wasm", guest)})
	at, dir := s.URL+"/guest.wasm?digest="+module.Digest(guest), t.TempDir()
	sources := module.NewSources(module.SourcesConfig{Dir: dir})
	for i, suffix := range []string{".wasm", ".wasm", ".origin"} {
		if _, err := load(sources, at); err != nil {
			t.Fatal(err)
		}
		if s.requests != min(i+1, 3) {
			t.Errorf("%d requests after %d damages", s.requests, i)
		}
		file := filepath.Join(dir, strings.Replace(module.Digest(guest), ":", "-", 1)+suffix)
		if err := os.WriteFile(file, []byte("damage"), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			s.Close()
			if _, err := module.NewSources(module.SourcesConfig{Dir: dir}).Load(t.Context(), module.Reference{URL: s.URL + "/guest.wasm", Digest: module.Digest(guest)}); err != nil {
				t.Errorf("the module itself is not damaged: %v", err)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("the damaged file is still there")
			}
		}
	}
}

// TestFullDisk: a module is loaded although it cannot be stored. The log says so once.
func TestFullDisk(t *testing.T) {
	guest := guestModule(t)
	s := serve(t, map[string]http.HandlerFunc{"/guest.wasm": content("application/wasm", guest)})
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // nothing can be created below a file, whoever runs the test
		t.Fatal(err)
	}
	var log bytes.Buffer
	sources := module.NewSources(module.SourcesConfig{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if _, err := load(sources, s.URL+"/guest.wasm?digest="+module.Digest(guest)); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "the cache of fetched modules cannot be written"); n != 1 {
		t.Errorf("%d lines of log: %s", n, log.String())
	}
}
