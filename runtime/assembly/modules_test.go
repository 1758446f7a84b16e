package assembly

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// guest writes a module and returns its file. filter, score and alloc are bodies of functions
// (call, lo, hi) → i32; empty ones work.
type guest struct {
	filter, score, alloc, abi string
	required                  bool // the feed load:milli, which it reads
	boxes                     bool // requires objects, and reads a field of them
}

func (g guest) write(t *testing.T) string {
	t.Helper()
	for body, otherwise := range map[*string]string{
		&g.filter: "(i32.const 0)", &g.score: "(i32.const 0)", &g.abi: "(i32.const 0x10000)",
		// Every allocation returns the same place, which is large enough.
		&g.alloc: "(i32.const 65536)",
	} {
		if *body == "" {
			*body = otherwise
		}
	}
	reads := `"abi": "1.0", "reads": {"node": ["generation"]}`
	if g.required {
		reads = `"abi": "1.1", "reads": {"feeds": ["load:milli"], "requiredFeeds": ["load:milli"]}`
	}
	if g.boxes {
		reads = `"abi": "1.2", "objects": [{"name": "box", "resource": "boxes.example.com/v1", "join": "node", "required": true}],
			"reads": {"objectColumns": ["box.spec.size:integer"]}`
	}
	data := wat.Compile(t, fmt.Sprintf(`(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) %s)
		(func (export "berth_alloc") (param i32 i32) (result i32) %s)
		(func (export "berth_filter") (param i32 i32 i32) (result i32) %s)
		(func (export "berth_score") (param i32 i32 i32) (result i32) %s))`, g.abi, g.alloc, g.filter, g.score),
		`{"name": "tiny", "version": "1.0.0", `+reads+`, "points": {"filter": {"scope": "node"}, "score": {"scope": "node"}}}`)
	file := filepath.Join(t.TempDir(), "tiny.wasm")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func newModules(t *testing.T) *Modules {
	t.Helper()
	m := NewModules(ModulesConfig{VerifyEvery: 1})
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// enabled returns a configuration with the module at the end of each profile.
// parsed reads a configuration and loads its modules.
func parsed(m *Modules, text []byte, name string, compiledIn ...string) (*config.Scheduler, []config.Warning, error) {
	s, warnings, err := config.Parse(text, name, Catalog(compiledIn...))
	if err == nil {
		_, err = m.Resolve(s)
	}
	return s, warnings, err
}

func enabled(t *testing.T, m *Modules, s *config.Scheduler, ref module.Reference) *config.Scheduler {
	t.Helper()
	loaded, err := m.Load(ref)
	if err == nil {
		err = loaded.Enable(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A module that conforms to the ABI but cannot run makes New fail with the profile and the
// file, even with failurePolicy Ignore.
func TestModulesThatCannotRun(t *testing.T) {
	for name, c := range map[string]struct {
		guest guest
		want  string
	}{
		"not valid":      {guest{filter: "(i64.const 0)"}, "compile module sha256:"},
		"of a later ABI": {guest{abi: "(i32.const 0x20000)"}, "the module was built for ABI 2.0, this host speaks 1.2"},
		"traps at once":  {guest{abi: "unreachable"}, "berth_abi: "},
		"serves":         {guest{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := c.guest.write(t)
			modules := newModules(t)
			s := enabled(t, modules, Default(), module.Reference{Path: file})
			a, err := New(Config{Scheduler: s, Modules: modules}, Deps{Binder: noBinder{}, Clock: clock.Real{}, Outlet: &recorder{}})
			if err == nil {
				a.Close()
			}
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if prefix := `profile "default-scheduler": ` + file + ": "; err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s … %s", err, prefix, c.want)
			}
		})
	}
}

// outcomes schedules one pod in each profile and namespace. It returns the pod's node or the
// first line of the reason.
func outcomes(t *testing.T, r *recorder, namespaces ...string) map[string]string {
	t.Helper()
	for _, name := range []string{"n-1", "n-2"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("10")}
		r.scheduler.Scheduler.SetNode(state.NewNode(n))
	}
	for _, profile := range r.scheduler.Profiles {
		for _, namespace := range namespaces {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: profile, UID: types.UID(namespace + "/" + profile)}}
			p.Spec.SchedulerName = profile
			r.scheduler.Scheduler.SetPods(state.NewPod(p))
		}
	}
	for r.scheduler.Scheduler.Step(t.Context()) {
	}
	out := make(map[string]string)
	for _, a := range r.attempts {
		out[a.Namespace+"/"+a.Pod] = "placed"
		if a.Node == "" {
			out[a.Namespace+"/"+a.Pod] = a.Message
		}
	}
	return out
}

// A fault affects only the plugin: pods of other profiles, and of namespaces that it does not
// apply to, are placed. The fault is counted.
func TestModuleFaults(t *testing.T) {
	for name, c := range map[string]struct {
		guest  guest
		policy module.FailurePolicies
		want   string // for the plugin's pods; empty for placed
	}{
		"filter traps":          {guest{filter: "unreachable"}, module.FailurePolicies{}, "fault of plugin tiny at Filter: trap: "},
		"filter traps, ignored": {guest{filter: "unreachable"}, module.FailurePolicies{All: v1alpha1.Ignore}, ""},
		"filter traps, by point": {guest{filter: "unreachable"},
			module.FailurePolicies{Points: map[string]v1alpha1.FailurePolicy{"filter": v1alpha1.Ignore}}, ""},
		"score traps": {guest{score: "unreachable"}, module.FailurePolicies{}, ""},
		"score traps, to be taken": {guest{score: "unreachable"}, module.FailurePolicies{All: v1alpha1.Fail},
			"fault of plugin tiny at Score: trap: "},
		"filter answers nonsense": {guest{filter: "(i32.const 77)"}, module.FailurePolicies{}, "fault of plugin tiny at Filter: bad-output: "},
		"no room":                 {guest{alloc: "(i32.const 0)"}, module.FailurePolicies{}, "fault of plugin tiny at Filter: no-memory: "},
		"room beyond the memory":  {guest{alloc: "(i32.const 0x7fffffc0)"}, module.FailurePolicies{}, "fault of plugin tiny at Filter: bad-output: "},
		"writes the snapshot": {guest{filter: `
			(i32.store8 (i32.load (local.get 0)) (i32.const 1)) (i32.const 0)`}, module.FailurePolicies{}, "fault of plugin tiny at Filter: wrote-snapshot: "},
	} {
		t.Run(name, func(t *testing.T) {
			modules := newModules(t)
			s := parse(t, "profiles:\n- {schedulerName: with}\n- {schedulerName: without}\n")
			with := *s
			with.Profiles = s.Profiles[:1]
			enabled(t, modules, &with, module.Reference{Path: c.guest.write(t), Namespaces: []string{"mine"}, FailurePolicy: c.policy})
			r := start(t, Config{Scheduler: s, Modules: modules})
			for pod, got := range outcomes(t, r, "mine", "theirs") {
				want := "placed"
				if pod == "mine/with" && c.want != "" {
					want = c.want
				}
				if !strings.Contains(got, want) {
					t.Errorf("%s: %s, want %s", pod, got, want)
				}
			}
			faults := map[string]int64{}
			for _, total := range r.scheduler.Scheduler.Totals().Plugins {
				faults[total.Profile+"/"+total.Plugin] += total.Faults
			}
			maps.DeleteFunc(faults, func(_ string, n int64) bool { return n == 0 })
			if len(faults) != 1 || faults["with/tiny"] == 0 {
				t.Errorf("faults are %v, want some of with/tiny and no others", faults)
			}
		})
	}
}

// Profiles with the same module share the compiled code and have separate plugins.
func TestProfilesShareModules(t *testing.T) {
	modules := newModules(t)
	file := guest{}.write(t)
	s := enabled(t, modules, parse(t, "profiles:\n- {schedulerName: a}\n- {schedulerName: b}\n"), module.Reference{Path: file, Weight: 7})
	s = enabled(t, modules, s, module.Reference{Path: file, Name: "again"})
	for _, p := range s.Profiles {
		for point, refs := range map[string][]config.PluginRef{"filter": p.Points["filter"], "score": p.Points["score"]} {
			last := refs[len(refs)-2:]
			if want := []config.PluginRef{{Name: "tiny", Weight: 7}, {Name: "again", Weight: 1}}; !slices.Equal(last, want) {
				t.Errorf("profile %s ends %s with %v, want %v", p.SchedulerName, point, last, want)
			}
		}
	}
	r := start(t, Config{Scheduler: s, Modules: modules})
	for digest, code := range modules.mu.compiled {
		if len(modules.mu.compiled) != 1 || code.users != 4 {
			t.Errorf("%d modules compiled, %s for %d plugins, want 1 for 4", len(modules.mu.compiled), digest, code.users)
		}
	}
	for pod, got := range outcomes(t, r, "ns") {
		if got != "placed" {
			t.Errorf("%s: %s", pod, got)
		}
	}
	loaded, err := modules.Load(module.Reference{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Enable(s); err == nil || !strings.Contains(err.Error(), `profile "a" already has a plugin "tiny" at `) {
		t.Errorf("a name that is taken: %v", err)
	}
}

// TestCatalogWithModules: args of this kind are read from a file; mistakes are reported on one
// line.
func TestCatalogWithModules(t *testing.T) {
	modules := newModules(t)
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	text := func(name, path string) string {
		return head + fmt.Sprintf("profiles:\n- plugins: {multiPoint: {enabled: [{name: %s}]}}\n  pluginConfig:\n"+
			"  - {name: %s, args: {apiVersion: %s, kind: %s, module: {path: %q}}}\n", name, name, v1alpha1.GroupVersion(),
			v1alpha1.KindWasmPluginArgs, path)
	}
	s, _, err := parsed(modules, []byte(text("mine", guest{}.write(t))), "config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for point, weight := range map[string]int32{"filter": 0, "score": 1} {
		refs := s.Profiles[0].Points[point]
		if last, want := refs[len(refs)-1], (config.PluginRef{Name: "mine", Weight: weight}); last != want {
			t.Errorf("%s ends with %v, want %v", point, last, want)
		}
	}
	if named := moduleOf(s.Profiles[0].Args["mine"]); named == nil || named.Loaded.Name != "mine" || named.Loaded.Manifest.Name != "tiny" {
		t.Errorf("args are %+v", s.Profiles[0].Args["mine"])
	}
	_, _, err = parsed(modules, []byte(text("mine", "none.wasm")), "config.yaml")
	if err == nil || !strings.HasPrefix(err.Error(), "config.yaml:6: profiles[0].pluginConfig[0].args: none.wasm: module: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	// A module cannot replace a native plugin by taking its name.
	_, _, err = parsed(modules, []byte(text("NodeName", guest{}.write(t))), "config.yaml")
	if err == nil || !strings.HasPrefix(err.Error(), "config.yaml:") {
		t.Errorf("a module named as a native plugin: %v", err)
	}
}
