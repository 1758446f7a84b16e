package assembly

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// in adds a pod of a namespace and reports whether it was placed.
func (r *recorder) in(t *testing.T, namespace, name string) bool {
	t.Helper()
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName = "default-scheduler"
	r.scheduler.Scheduler.SetPods(state.NewPod(p))
	r.steps(t)
	return r.placed(name)
}

func (r *recorder) placed(name string) bool {
	return slices.ContainsFunc(r.bound, func(b string) bool { return strings.HasPrefix(b, name+" ") })
}

// later lets backoffs end.
func (r *recorder) later(t *testing.T) {
	t.Helper()
	r.clock.Advance(20 * time.Second)
	r.steps(t)
}

// tenants is a plugin of a namespace.
func tenants(t *testing.T, m *Modules, g guest, namespace string) Attached {
	t.Helper()
	name := namespace + "/tiny"
	loaded, err := m.Load(module.Reference{Path: g.write(t), Name: name, Namespaces: []string{namespace}, Tenant: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return Attached{Name: name, Module: loaded, Holds: true, Namespaces: []string{namespace}}
}

// TestManyAttached: the default memory is enough for as many plugins of tenants as docs/tenants.md says.
func TestManyAttached(t *testing.T) {
	for memory, count := range map[int64]int{64 << 20: 45, 10 << 20: MaxAttached} {
		modules := newModules(t)
		r := start(t, Config{Modules: modules})
		path := guest{}.write(t)
		var all []Attached
		for i := range count {
			namespace := fmt.Sprint("t-", i)
			loaded, err := modules.Load(module.Reference{
				Path: path, Name: namespace + "/tiny", Namespaces: []string{namespace}, Tenant: namespace,
				Limits: module.Limits{Memory: uint32(memory / 2), MemoryTotal: memory}, // as a grant sets them
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Attached{Name: namespace + "/tiny", Module: loaded, Holds: true, Namespaces: []string{namespace}})
		}
		if refused, err := r.scheduler.Attach(t.Context(), all); err != nil || len(refused) > 0 {
			t.Errorf("%d plugins of %d bytes: %d refused, %v, %v", count, memory, len(refused), refused[all[count-1].Name], err)
		}
	}
}

// TestMemoryFreed: a plugin that found no memory runs once another one has gone, although it has not changed.
func TestMemoryFreed(t *testing.T) {
	modules := newModules(t)
	modules.config.Memory = 200 << 20 // for two plugins
	r := start(t, Config{Modules: modules})
	oneNode(r)
	a, b, c := tenants(t, modules, guest{}, "a"), tenants(t, modules, guest{}, "b"), tenants(t, modules, guest{}, "c")
	attach := func(refused int, all ...Attached) {
		t.Helper()
		got, err := r.scheduler.Attach(t.Context(), all)
		if err != nil || len(got) != refused {
			t.Errorf("%d plugins: refused %v, %v, want %d refused", len(all), got, err, refused)
		}
		r.steps(t)
	}
	attach(1, a, b, c)
	if r.in(t, "c", "waits") {
		t.Error("a pod of c was placed although its plugin does not run")
	}
	built := r.scheduler.mu.built[0]
	attach(1, a, b, c)
	if r.scheduler.mu.built[0] != built {
		t.Error("plugins were built again although no memory was freed")
	}
	attach(1, a, c) // b runs until the loop has swapped
	attach(0, a, c)
	if !r.in(t, "c", "placed") || !r.placed("waits") {
		t.Errorf("placed %v", r.bound)
	}
}

// broken is a guest that cannot be started.
func broken() guest { return guest{alloc: "(i32.const 0)", abi: "unreachable"} }

// TestAttach: an attached plugin decides about the pods of its namespace only, and its pods are
// tried again when it is gone.
func TestAttach(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{Modules: modules})
	oneNode(r)
	refused, err := r.scheduler.Attach(t.Context(), []Attached{tenants(t, modules, guest{filter: no}, "a")})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	if r.in(t, "a", "a-1") || !r.in(t, "b", "b-1") {
		t.Errorf("placed %v", r.bound)
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r.later(t); !r.placed("a-1") {
		t.Errorf("placed %v", r.bound)
	}
	if len(modules.mu.compiled) != 0 {
		t.Error("its module is not freed")
	}
}

// TestFaultsOfATenant: a tenant's plugin that fails is called twice, and then not for five seconds.
func TestFaultsOfATenant(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{Modules: modules, Attached: []Attached{tenants(t, modules, guest{filter: "unreachable"}, "a")}})
	oneNode(r)
	faults := func() (n int64) {
		for _, work := range r.scheduler.Status().Plugins[0].Work {
			for _, f := range work.Faults {
				if f.Kind != fault.BreakerOpen {
					n += f.Count
				}
			}
		}
		return n
	}
	for i, want := range []int64{1, 2, 2, 2, 2, 2} {
		if r.in(t, "a", fmt.Sprint("a-", i)); faults() != want {
			t.Errorf("%d faults after %d pods, want %d", faults(), i+1, want)
		}
	}
	r.clock.Advance(4999 * time.Millisecond)
	if r.in(t, "a", "early"); faults() != 2 {
		t.Errorf("%d faults before the pause ends", faults())
	}
	r.clock.Advance(time.Millisecond)
	if r.in(t, "a", "late"); faults() != 3 {
		t.Errorf("%d faults after the pause, want 3", faults())
	}
}

// TestAttachedStandAlone: a plugin that cannot be started keeps no other from running. Its pods
// wait if it holds them, until it is replaced.
func TestAttachedStandAlone(t *testing.T) {
	modules := newModules(t)
	good, bad, worse := tenants(t, modules, guest{filter: no}, "a"), tenants(t, modules, broken(), "b"), tenants(t, modules, broken(), "c")
	worse.Holds = false
	r := start(t, Config{Modules: modules, Attached: []Attached{bad, good, worse}})
	oneNode(r)
	if refused := r.scheduler.Refusals(); len(refused) != 2 || refused["b/tiny"] == nil || refused["c/tiny"] == nil {
		t.Fatalf("refused %v", refused)
	}
	if r.in(t, "a", "a-1") || r.in(t, "b", "b-1") || !r.in(t, "c", "c-1") || !r.in(t, "d", "d-1") {
		t.Errorf("placed %v", r.bound)
	}
	// Another change does not start it again, and does not let its pods pass.
	kept := r.scheduler.mu.built[0].plugins["a/tiny"].plugin
	more := tenants(t, modules, guest{}, "d")
	if refused, err := r.scheduler.Attach(t.Context(), []Attached{bad, good, worse, more}); err != nil || len(refused) != 2 {
		t.Fatal(refused, err)
	}
	if r.later(t); r.placed("b-1") || r.scheduler.mu.built[0].plugins["a/tiny"].plugin != kept {
		t.Errorf("placed %v, or a plugin that did not change was replaced", r.bound)
	}
	fixed := tenants(t, modules, guest{}, "b")
	if refused, err := r.scheduler.Attach(t.Context(), []Attached{fixed, good}); err != nil || len(refused) != 0 {
		t.Fatal(refused, err)
	}
	if r.later(t); !r.placed("b-1") || r.placed("a-1") {
		t.Errorf("placed %v", r.bound)
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r.later(t); len(modules.mu.compiled) != 0 {
		t.Errorf("%d modules are not freed", len(modules.mu.compiled))
	}
}

// TestHeldPodsDoNotSlipThrough: a pod that is in the queue already waits too when its plugin
// stops running, and the profile has no such gate when no plugin is missing.
func TestHeldPodsDoNotSlipThrough(t *testing.T) {
	modules := newModules(t)
	first := Attached{NotReady: "FirstList", Holds: true}
	r := start(t, Config{Modules: modules, Attached: []Attached{first}})
	oneNode(r)
	if r.in(t, "a", "early") {
		t.Error("a pod was placed before the first list")
	}
	// The pod is admitted, and the plugin is gone before it is tried.
	r.scheduler.Scheduler.SetPods(state.NewPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "queued", UID: "queued"}, Spec: v1.PodSpec{SchedulerName: "default-scheduler"},
	}))
	if _, err := r.scheduler.Attach(t.Context(), []Attached{tenants(t, modules, guest{}, "a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.scheduler.Attach(t.Context(), []Attached{{Name: "a/tiny", NotReady: "NoGrant", Holds: true, Namespaces: []string{"a"}}}); err != nil {
		t.Fatal(err)
	}
	if r.later(t); r.placed("early") || r.placed("queued") || !r.in(t, "b", "other") {
		t.Errorf("placed %v", r.bound)
	}
	if first := r.scheduler.mu.built[0].profile.Points["preFilter"][0].Name; first != HoldName {
		t.Errorf("%s comes before the gate", first)
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r.later(t); !r.placed("early") || !r.placed("queued") || r.scheduler.mu.built[0].plugins[HoldName] != nil {
		t.Errorf("placed %v", r.bound)
	}
}

// TestAttachedBesideReload: plugins of the configuration and attached ones change apart.
func TestAttachedBesideReload(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{Modules: modules, Attached: []Attached{tenants(t, modules, guest{filter: no}, "a")}})
	oneNode(r)
	with := enabled(t, modules, Default(), module.Reference{Path: guest{}.write(t), Name: "own"})
	if changed, err := r.scheduler.Reload(t.Context(), with); err != nil || !slices.Equal(changed, []string{"own"}) {
		t.Fatal(changed, err)
	}
	if r.in(t, "a", "a-1") || r.scheduler.mu.built[0].plugins["own"] == nil {
		t.Errorf("placed %v", r.bound)
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r.later(t); !r.placed("a-1") || r.scheduler.mu.built[0].plugins["own"] == nil {
		t.Errorf("placed %v", r.bound)
	}
	bad := enabled(t, modules, Default(), module.Reference{Path: broken().write(t), Name: "own"})
	if _, err := r.scheduler.Reload(t.Context(), bad); err == nil {
		t.Error("a configuration that cannot be used is accepted")
	}
}

// TestHoldNames: a pod waits for the first of the plugins that hold it, however many others there are.
func TestHoldNames(t *testing.T) {
	all := []held{{Name: "b/1", Why: "x", Namespaces: []string{"b"}}, {Name: "all", Why: "y"}, {Name: "a/1", Why: "z", Namespaces: []string{"a"}}}
	for n, want := range map[int]map[string]string{
		1: {"a": "", "b": "b/1"}, 2: {"a": "all", "b": "b/1", "c": "all"}, 3: {"a": "all", "b": "b/1"},
	} {
		p := holdFor(all[:n])
		for namespace, name := range want {
			status := p.status(state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}}))
			if name == "" && status != nil || name != "" && !strings.Contains(status.Message(), "the plugin "+name+" does not run") {
				t.Errorf("%d: a pod of %s: %v, want %q", n, namespace, status, name)
			}
		}
		if mine := p.Info().Namespaces; (mine == nil) != (n > 1) {
			t.Errorf("%d: for the namespaces %q", n, mine)
		}
	}
}
