package assembly

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// stored returns the names of the files in a folder, without digests.
func stored(t *testing.T, dir string) string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		out = append(out, filepath.Ext(f.Name()))
	}
	return strings.Join(out, " ")
}

// TestOnlyUsedModulesAreKept: what was fetched is stored when a plugin of it is compiled, not before:
// a grant may refuse it meanwhile. What the configuration names is stored at once.
func TestOnlyUsedModulesAreKept(t *testing.T) {
	file := guest{}.write(t)
	bad := guest{filter: "(i64.const 0)"}.write(t)
	s := httptest.NewServer(http.FileServer(http.Dir("/")))
	defer s.Close()
	ref := func(file string) module.Reference {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return module.Reference{URL: s.URL + file, Digest: module.Digest(data)}
	}
	for _, c := range []struct {
		name string
		file string
		use  func(m *Modules, ref module.Reference) error
		want string
	}{
		{"fetched", file, func(m *Modules, ref module.Reference) error {
			_, err := m.Fetch(t.Context(), ref)
			return err
		}, ""},
		{"not valid", bad, func(m *Modules, ref module.Reference) error {
			loaded, err := m.Fetch(t.Context(), ref)
			if err != nil {
				return err
			}
			if _, err := m.Compile(t.Context(), &Module{Loaded: loaded, Reference: ref}); err == nil {
				t.Error("it is compiled")
			}
			return nil
		}, ""},
		{"compiled", file, func(m *Modules, ref module.Reference) error {
			loaded, err := m.Fetch(t.Context(), ref)
			if err != nil {
				return err
			}
			release, err := m.Compile(t.Context(), &Module{Loaded: loaded, Reference: ref})
			if err != nil {
				return err
			}
			if !m.inUse(ref.Digest) {
				t.Error("it is not in use")
			}
			release()
			if m.inUse(ref.Digest) {
				t.Error("it is in use, and was released")
			}
			return nil
		}, ".origin .wasm"},
		{"configured", file, func(m *Modules, ref module.Reference) error {
			_, err := m.Load(ref)
			return err
		}, ".origin .wasm"},
	} {
		dir := filepath.Join(t.TempDir(), "fetched")
		m := NewModules(ModulesConfig{SourceDir: dir})
		if err := c.use(m, ref(c.file)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := stored(t, dir); got != c.want {
			t.Errorf("%s: stored are %q, want %q", c.name, got, c.want)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestDefaultModuleSize: no module is fetched that is too large to run.
func TestDefaultModuleSize(t *testing.T) {
	if got, want := module.DefaultModuleSize, meter.DefaultLimits().Module; got != want {
		t.Errorf("modules of %d bytes are fetched, and of %d bytes run", got, want)
	}
}
