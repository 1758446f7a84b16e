package assembly

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// TestReplacedWithoutRoom: where there is memory for one plugin only, each way to change it runs a new version, one to add
// a second plugin is refused, and what the old version had for cycles is freed at the swap.
func TestReplacedWithoutRoom(t *testing.T) {
	const total = 100 << 20 // a plugin of 64 MiB needs more than half of it
	accepts, rejects := guest{}, guest{filter: no}
	for name, change := range map[string]func(t *testing.T, r *recorder, m *Modules) (to func(g guest) error, second func() error){
		"file": func(t *testing.T, r *recorder, m *Modules) (func(guest) error, func() error) {
			load := func(g guest, names ...string) error {
				s, path := Default(), g.write(t)
				for _, name := range names {
					enabled(t, m, s, module.Reference{Path: path, Name: name})
				}
				_, err := r.scheduler.Reload(t.Context(), s)
				return err
			}
			return func(g guest) error { return load(g, "a") }, func() error { return load(rejects, "a", "b") }
		},
		"folder": func(t *testing.T, r *recorder, _ *Modules) (func(guest) error, func() error) {
			dir := t.TempDir()
			f, err := r.scheduler.ReadFolder(t.Context(), FolderConfig{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			put := func(g guest, name string) error {
				data, err := os.ReadFile(g.write(t))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, name+".wasm"), data, 0o600)
				}
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, name+".yaml"), []byte("name: "+name+"\n"), 0o600)
				}
				if err == nil {
					err = f.Sync(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range f.Status() {
					err = errors.Join(err, s.Err)
				}
				return err
			}
			return func(g guest) error { return put(g, "a") }, func() error { return put(rejects, "b") }
		},
		"object": func(t *testing.T, r *recorder, m *Modules) (func(guest) error, func() error) {
			attach := func(all ...Attached) error {
				refused, err := r.scheduler.Attach(t.Context(), all)
				for _, why := range refused {
					err = errors.Join(err, why)
				}
				return err
			}
			return func(g guest) error { return attach(tenants(t, m, g, "ns")) },
				func() error { return attach(tenants(t, m, rejects, "ns"), tenants(t, m, rejects, "other")) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			modules := newModules(t)
			modules.config.Memory = total
			r := start(t, Config{Modules: modules})
			oneNode(r)
			to, second := change(t, r, modules)
			running := func() *wasm.Plugin {
				for _, made := range r.scheduler.mu.built[0].plugins {
					if p, ok := made.plugin.(*wasm.Plugin); ok {
						r.scheduler.closing.hold(made) // as pods in flight would
						return p
					}
				}
				return nil
			}
			var last *wasm.Plugin
			for i, version := range []guest{accepts, rejects, accepts, rejects} {
				if err := to(version); err != nil {
					t.Fatalf("version %d: %v", i, err)
				}
				if last != nil { // the loop has not swapped yet
					if n := last.Status().Instances; n == 0 {
						t.Error("the old version has no instance although it still decides")
					}
				}
				node := r.try(t, string(rune('p'+i)))
				if (node != "") != (i%2 == 0) {
					t.Errorf("version %d: the pod is on %q", i, node)
				}
				if last != nil && last.Status().Instances > 0 {
					t.Error("the old version still has an instance")
				}
				last = running()
			}
			var full *memory.Full
			if err := second(); !errors.As(err, &full) {
				t.Errorf("a second plugin has room: %v", err)
			}
		})
	}
}
