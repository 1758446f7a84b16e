package assembly

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// no is a filter that refuses every node: it fills the codes with Unschedulable.
const no = `(memory.fill (i32.load offset=24 (local.get 0)) (i32.const 2) (i32.load offset=20 (local.get 0))) (i32.const 0)`

// try adds a pod and returns its node, or "" if it was not placed.
func (r *recorder) try(t *testing.T, name string) string {
	t.Helper()
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName = "default-scheduler"
	r.scheduler.Scheduler.SetPods(state.NewPod(p))
	r.steps(t)
	for _, b := range r.bound {
		if pod, node, _ := strings.Cut(b, " "); pod == name {
			return node
		}
	}
	return ""
}

func (r *recorder) steps(t *testing.T) {
	t.Helper()
	for r.scheduler.Scheduler.Step(t.Context()) {
	}
	r.scheduler.closing.later.Wait()
}

func oneNode(r *recorder) {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("1000")}
	r.scheduler.Scheduler.SetNode(state.NewNode(n))
}

// TestReload: a new version takes over; pods that the old one rejected are retried; unchanged
// plugins stay; unused modules are freed; a version that cannot run leaves the old one running.
func TestReload(t *testing.T) {
	modules := newModules(t)
	base := Default()
	with := func(g guest, name string) module.Reference {
		return module.Reference{Path: g.write(t), Name: name}
	}
	refuses, stays := with(guest{filter: no}, "a"), with(guest{score: "(i32.const 0) (drop) (i32.const 0)"}, "b")
	s := enabled(t, modules, enabled(t, modules, clone(base), refuses), stays)
	r := start(t, Config{Scheduler: s, Modules: modules})
	oneNode(r)
	if node := r.try(t, "p"); node != "" {
		t.Fatalf("p is on %s", node)
	}
	pluginOf := func(name string) *wasm.Plugin { return r.scheduler.mu.built[0].plugins[name].plugin.(*wasm.Plugin) }
	a, b := pluginOf("a"), pluginOf("b")

	accepts := with(guest{}, "a")
	broken := enabled(t, modules, enabled(t, modules, clone(base), with(guest{alloc: "(i32.const 0)", abi: "unreachable"}, "a")), stays)
	if changed, err := r.scheduler.Reload(t.Context(), broken); err == nil || changed != nil {
		t.Errorf("a broken version: %v, %v", changed, err)
	}
	if pluginOf("a") != a || len(modules.mu.compiled) != 2 {
		t.Errorf("after a broken version %d modules are compiled", len(modules.mu.compiled))
	}
	renamed := clone(s)
	renamed.Profiles[0].SchedulerName = "other"
	if _, err := r.scheduler.Reload(t.Context(), renamed); err == nil {
		t.Error("another profile is accepted")
	}
	next := enabled(t, modules, enabled(t, modules, clone(base), accepts), stays)
	changed, err := r.scheduler.Reload(t.Context(), next)
	if err != nil || !slices.Equal(changed, []string{"a"}) {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if pluginOf("a") == a || pluginOf("b") != b {
		t.Error("a was not replaced, or b was")
	}
	r.clock.Advance(10 * time.Second)
	r.steps(t)
	if node := r.try(t, "q"); node != "n" || len(r.bound) != 2 {
		t.Errorf("bound %v", r.bound)
	}
	if len(modules.mu.compiled) != 2 {
		t.Errorf("%d modules are compiled, the old one is not freed", len(modules.mu.compiled))
	}
	if changed, err := r.scheduler.Reload(t.Context(), clone(base)); err != nil || !slices.Equal(changed, []string{"a", "b"}) {
		t.Errorf("changed %v, %v", changed, err)
	}
	r.steps(t)
	if len(modules.mu.compiled) != 0 {
		t.Errorf("%d compiled modules have no users", len(modules.mu.compiled))
	}
	if changed, err := r.scheduler.Reload(t.Context(), clone(base)); err != nil || changed != nil {
		t.Errorf("nothing changed: %v, %v", changed, err)
	}
}

// TestFolder: modules are added, changed and removed with the files of a folder, and one that
// cannot be used does not block the others.
func TestFolder(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{Modules: modules})
	oneNode(r)
	dir := t.TempDir()
	move := func(name string, data []byte) { // atomically, so that nobody reads half of it
		t.Helper()
		hidden := filepath.Join(dir, "."+name)
		err := os.WriteFile(hidden, data, 0o600)
		if err == nil {
			err = os.Rename(hidden, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, g guest) {
		t.Helper()
		data, err := os.ReadFile(g.write(t))
		if err != nil {
			t.Fatal(err)
		}
		move(name+".wasm", data)
	}
	write := func(name, text string) {
		t.Helper()
		move(name, []byte(text))
	}
	put("one", guest{filter: no})
	write("one.yaml", "name: one\nnamespaces: [elsewhere]\n")
	ctx, cancel := context.WithCancel(t.Context())
	f, err := r.scheduler.Watch(ctx, FolderConfig{Dir: dir, Settle: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	status := func() (out string) {
		for _, s := range f.Status() {
			out += fmt.Sprintf("%s %s %s;", filepath.Base(s.Path), s.Plugin, strings.SplitN(strings.ReplaceAll(errText(s.Err), dir, ""), "\n", 2)[0])
		}
		return out
	}
	await := func(want string) {
		t.Helper()
		eventually.Succeeds(t, func() error {
			if got := status(); !strings.Contains(got, want) {
				return fmt.Errorf("status %q, want %q", got, want)
			}
			return nil
		})
	}
	await("one.wasm one ;")
	if node := r.try(t, "p0"); node != "n" {
		t.Error("a module for other namespaces rejected p0")
	}
	write("one.yaml", "name: one\n")
	awaitSwap := func(pod, want string) {
		t.Helper()
		i := 0
		eventually.Succeeds(t, func() error {
			if i++; r.try(t, fmt.Sprint(pod, "-", i)) != want {
				return fmt.Errorf("pods do not go to %q; status %s", want, status())
			}
			return nil
		})
	}
	awaitSwap("refused", "")
	write("one.yaml", "name: one\nweight: none\n")
	await(`one.wasm one /one.yaml: line 2: weight: expected a 32-bit integer, found the string "none"`)
	awaitSwap("still refused", "")
	put("two", guest{abi: "unreachable"})
	await("two.wasm  profile")
	write("one.yaml", "name: two\nweight: 3\n")
	put("one", guest{})
	await("one.wasm two ;two.wasm  profile")
	awaitSwap("accepted", "n")
	put("three", guest{filter: no})
	write("three.yaml", "name: two\n")
	await(`three.wasm  /three.wasm: profile "default-scheduler" already has a plugin "two" at`)
	if err := os.Remove(filepath.Join(dir, "two.wasm")); err != nil {
		t.Fatal(err)
	}
	write("three.yaml", "")
	await("one.wasm two ;three.wasm tiny ;")
	awaitSwap("refused again", "")
	for _, name := range []string{"one.wasm", "three.wasm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	awaitSwap("free", "n")
	cancel()
	<-f.Done()
}

// TestStatus: which plugins run, what they did, and why a reload was refused.
func TestStatus(t *testing.T) {
	modules := newModules(t)
	base := Default()
	reference := module.Reference{Path: guest{filter: "unreachable"}.write(t), Name: "a", Namespaces: []string{"ns"}}
	s := enabled(t, modules, clone(base), reference)
	r := start(t, Config{Scheduler: s, Modules: modules})
	oneNode(r)
	for range 8 { // five faults open the breaker
		r.try(t, "p")
		r.clock.Advance(100 * time.Second)
		r.steps(t)
	}
	status := r.scheduler.Status()
	if len(status.Plugins) != 1 || status.Err != nil || status.Reloads+status.Refused != 0 {
		t.Fatalf("status %+v", status)
	}
	p := status.Plugins[0]
	if p.Profile != "default-scheduler" || p.Name != "a" || p.Module != "tiny" || p.Version != "1.0.0" || p.ABI != "1.0" ||
		!strings.HasPrefix(p.Digest, "sha256:") || !slices.Equal(p.Namespaces, []string{"ns"}) {
		t.Errorf("plugin %+v", p)
	}
	filter := p.Work[0]
	if p.Breaker.State == breaker.Closed || p.Breaker.Opened == 0 || p.Breaker.LastFault == nil || p.Breaker.LastFault.Kind != fault.Trap || p.Breaker.LastFaultAt.IsZero() ||
		filter.Point != abi.Filter || filter.Calls < 5 || filter.Rows != filter.Calls || filter.Fuel < filter.Calls || filter.Faults[len(filter.Faults)-1].Kind != fault.Trap {
		t.Errorf("plugin %+v, filter %+v", p, filter)
	}
	if (p.Breaker.State == breaker.Open) == p.Breaker.RetryAt.IsZero() {
		t.Errorf("breaker %s, retry at %v", p.Breaker.State, p.Breaker.RetryAt)
	}
	if p.NotKept != "no answers are kept (--reuse-memory 0)" {
		t.Errorf("answers are not kept: %q", p.NotKept)
	}
	r.scheduler.config.Reuse = equivalence.Default()
	if why := r.scheduler.Status().Plugins[0].NotKept; why != "" {
		t.Errorf("answers are not kept: %q", why)
	}
	r.scheduler.broken(pipeline.Broken{
		Plugin: r.scheduler.now.built[0].plugins["a"].plugin.Info(), Pod: state.NewPod(pod("p", 0)), Node: "n", Point: abi.Filter,
	})
	const demoted = "when asked again at filter about node n for pod ns/p, it gave another answer, although nothing that it declares to read had changed"
	if why := r.scheduler.Status().Plugins[0].NotKept; why != demoted {
		t.Errorf("answers are not kept: %q, want %q", why, demoted)
	}
	broken := enabled(t, modules, clone(base), module.Reference{Path: guest{abi: "unreachable"}.write(t), Name: "a"})
	if _, err := r.scheduler.Reload(t.Context(), broken); err == nil {
		t.Fatal("a broken version is accepted")
	}
	after := r.scheduler.Status()
	if after.Refused != 1 || after.Err == nil || !strings.Contains(after.Err.Error(), "berth_abi: unreachable") || after.Plugins[0].Digest != p.Digest {
		t.Errorf("status %+v", after)
	}
	if _, err := r.scheduler.Reload(t.Context(), clone(base)); err != nil {
		t.Fatal(err)
	}
	if after = r.scheduler.Status(); after.Reloads != 1 || after.Err != nil || len(after.Plugins) != 0 || len(r.scheduler.now.demoted) != 0 {
		t.Errorf("status %+v, demoted %v", after, r.scheduler.now.demoted)
	}
}
