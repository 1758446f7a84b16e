//go:build !wasip1

package hosttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/cycle"
	source "github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// twin is a way of running a plugin in a scheduler.
type twin struct {
	name string
	// file returns the module's file; nil for native code.
	file func(t testing.TB, e *wasmexamples.Example) string
}

// twins returns the native plugin, which is first, and its modules.
func twins() []twin {
	return []twin{{name: "native"}, {name: "go", file: file}, {name: "rust", file: inRust().file}, {name: "c", file: inC().file}, {name: "assemblyscript", file: inAssemblyScript().file}}
}

// TestPoints: at every point a guest's answer changes what the scheduler does, in the same way
// in every language.
func TestPoints(t *testing.T)     { points(t) }
func TestRestPoints(t *testing.T) { points(t) }

func points(t *testing.T) {
	t.Helper()
	for _, twin := range twins() {
		for _, path := range scenariotest.Files(t, "testdata/points/*.txt") {
			t.Run(twin.name+"/"+strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
				if twin.file != nil {
					testrest.Only(t) // each language's compiler
				}
				log := &scenario.Log{}
				got := scenariotest.Run(t, path, log, func() scenario.Commands { return newCluster(t, log, twin).commands() })
				check := golden.Check
				if twin.file != nil {
					check = golden.Compare // -rewrite writes what the native plugin does
				}
				check(t, path, got)
			})
		}
	}
}

// cluster is a scheduler with a plugin, and its API server.
type cluster struct {
	t        testing.TB
	log      *scenario.Log
	twin     twin
	clock    *stepClock
	example  wasmexamples.Example
	assembly *assembly.Assembly
	ref      source.Reference
	plugin   *wasm.Plugin   // of native code
	without  []string       // plugins removed from the default profile
	binder   objects.Binder // nil for the cluster itself

	pods    map[types.UID]*state.Pod
	ranks   map[string]uint64
	held    bool // bindings wait for release
	spawned []func()
	failing map[string]bool // bindings of these pods fail
	detail  *regexp.Regexp  // text that only some twins print
}

func newCluster(t testing.TB, log *scenario.Log, twin twin) *cluster {
	return &cluster{
		t: t, log: log, twin: twin, clock: &stepClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		detail:  regexp.MustCompile(` \(module sha256:[0-9a-f]+\)|(: trap): .*|; the guest's last output: .*`),
		example: wasmexamples.EveryPoint(), pods: map[types.UID]*state.Pod{}, ranks: map[string]uint64{}, failing: map[string]bool{},
	}
}

// stepClock stands still until it is advanced.
type stepClock struct{ now time.Time }

func (c *stepClock) Now() time.Time { return c.now }

func (c *stepClock) Until(time.Time) (<-chan struct{}, func()) { return nil, func() {} }

// get makes the scheduler when it is first needed.
func (c *cluster) get() *scheduler.Scheduler {
	c.t.Helper()
	if c.assembly != nil {
		return c.assembly.Scheduler
	}
	path := file(c.t, &c.example)
	if c.twin.file != nil {
		path = c.twin.file(c.t, &c.example)
	}
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: cacheDir(), VerifyEvery: 1})
	c.ref.Path, c.ref.GrantAll = path, true
	loaded, err := modules.Load(c.ref)
	if err != nil {
		c.t.Fatal(err)
	}
	s := assembly.Default()
	for point, refs := range s.Profiles[0].Points {
		for i := len(refs) - 1; i >= 0; i-- {
			if slices.Contains(c.without, refs[i].Name) {
				refs = slices.Delete(refs, i, i+1)
			}
		}
		if s.Profiles[0].Points[point] = refs; len(refs) == 0 {
			delete(s.Profiles[0].Points, point)
		}
	}
	if err := loaded.Enable(s); err != nil {
		c.t.Fatal(err)
	}
	config := assembly.Config{
		Scheduler: s, Modules: modules, Seed: 1, TieBreak: cycle.First, Workers: 2,
		Rank: func(node string) uint64 { return c.ranks[node] },
	}
	if c.twin.file == nil {
		config.Plugins = plugin.Registry{loaded.Loaded.Name: c.native}
	}
	if c.binder == nil {
		c.binder = c
	}
	deps := assembly.Deps{Clock: c.clock, Binder: c.binder, Outlet: c, Evictor: c, Spawn: c.spawn, Log: slog.New(handler{c.log})}
	if c.assembly, err = assembly.New(config, deps); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		c.assembly.Close()
		if err := modules.Close(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
	return c.assembly.Scheduler
}

// native makes the plugin as native code.
func (c *cluster) native(any) (plugin.Plugin, error) {
	m := manifest(c.t, &c.example)
	p, err := wasm.New(context.Background(),
		wasm.Config{Name: c.example.Name, Config: c.ref.Config, Grants: m.Rights(), VerifyEvery: 1, Shards: 2, CrashOnBug: true},
		wasm.Deps{Factory: native(c.t, &c.example), Manifest: m, Binder: c.binder, Clock: c.clock, Log: slog.New(handler{c.log})})
	c.plugin = p
	return p, err
}

// handler prints what plugins log.
type handler struct{ log *scenario.Log }

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h handler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h handler) WithGroup(string) slog.Handler                { return h }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	switch {
	case r.Message == "plugin fault":
		var kind, point string
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "kind":
				kind = a.Value.String()
			case "point":
				point = a.Value.String()
			}
			return true
		})
		h.log.Printf("fault at %s: %s", point, kind)
	case strings.Contains(r.Message, "everypoint: trap"):
		// Modules log why they trap; Go's runtime writes that to stderr.
	default:
		h.log.Printf("log: %s", r.Message)
	}
	return nil
}

func (c *cluster) spawn(run func()) {
	if c.held {
		c.spawned = append(c.spawned, run)
		return
	}
	run()
}

// Bind implements objects.Binder: the patch is written with the binding, and the watch confirms
// it.
func (c *cluster) Bind(_ context.Context, b objects.Binding) error {
	if c.failing[b.Pod.Name] {
		return errors.New("the API server says no")
	}
	p := b.Pod.On(b.Node, b.Patch)
	c.pods[p.UID] = p
	c.log.Printf("bound: %s to %s%s", p.Name, b.Node, written(b.Patch))
	c.get().SetPods(p)
	return nil
}

// written formats a patch.
func written(p state.Patch) string {
	out := ""
	for _, part := range []struct {
		what string
		keys map[string]string
	}{{"annotation", p.Annotations}, {"label", p.Labels}} {
		for _, key := range slices.Sorted(maps.Keys(part.keys)) {
			out += fmt.Sprintf(", %s %s=%s", part.what, strings.TrimPrefix(key, prefix), part.keys[key])
		}
	}
	return out
}

// Scheduled implements scheduler.Outlet. Bind has printed it.
func (*cluster) Scheduled(*state.Pod, string, state.Feature) {}

// Failed implements scheduler.Outlet.
func (c *cluster) Failed(f scheduler.Failure) {
	nominated := ""
	if f.Override && f.Nominated != "" {
		nominated = ", nominated " + f.Nominated
	}
	c.log.Printf("failed: %s: %s%s", f.Pod.Name, c.detail.ReplaceAllString(f.Message, ""), nominated)
	if f.Override {
		object := f.Pod.Object.DeepCopy()
		object.Status.NominatedNodeName = f.Nominated
		object.ResourceVersion += "+"
		c.pods[f.Pod.UID] = state.NewPod(object)
		c.get().SetPods(c.pods[f.Pod.UID])
	}
}

// Preempted implements scheduler.Outlet.
func (c *cluster) Preempted(p scheduler.Preempted) {
	c.log.Printf("preempted: %s for %s", p.Victim.Name, p.Preemptor.Name)
}

// Binding implements scheduler.Outlet.
func (*cluster) Binding(context.Context, *state.Pod) error { return nil }

// NominationCleared implements scheduler.Outlet.
func (c *cluster) NominationCleared(pod *state.Pod) { c.log.Printf("nomination cleared: %s", pod.Name) }

// Evict implements objects.Evictor: the pod is deleted immediately.
func (c *cluster) Evict(_ context.Context, e objects.Eviction) error {
	delete(c.pods, e.Victim.UID)
	c.get().DeletePod(e.Victim.UID)
	return nil
}

// prefix is the prefix of everypoint's annotations.
const prefix = "everypoint.berth.dev/"

// podOptions are the options of a pod: cpu= in milli-CPU, a key with a slash for an annotation,
// and the annotations of everypoint.
const podOptions = "[priority=INT] [cpu=INT] [on=NODE] [deleting=yes] [*/*=ANNOTATION] [label:*=LABEL] [bind=ANSWER] [filter=ANSWER] [hint=ANSWER] " +
	"[max-peers=INT] [normalize=ANSWER] [peer=true] [permit=ANSWER] [p*-bind=ANSWER] [post-filter=ANSWER] [pre-filter=ANSWER] " +
	"[pre-score=ANSWER] [pre-enqueue=ANSWER] [queue-key=INT] [reserve=ANSWER] [score=ANSWER] [unreserve=ANSWER]"

// pod makes a pod from podOptions; its UID is its name.
func (c *cluster) pod(name string, a scenario.Args) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{}, Labels: map[string]string{}}}
	p.Spec.SchedulerName = "default-scheduler"
	for key, value := range a.Options {
		switch key {
		case "priority":
			priority := int32(scenario.Int(value))
			p.Spec.Priority = &priority
		case "cpu":
			q := *resource.NewMilliQuantity(int64(scenario.Int(value)), resource.DecimalSI)
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: q}}}}
		case "on":
			p.Spec.NodeName = value
		case "deleting":
			p.DeletionTimestamp = &metav1.Time{}
		default:
			if label, ok := strings.CutPrefix(key, "label:"); ok {
				p.Labels[label] = value
				continue
			}
			if !strings.Contains(key, "/") {
				key = prefix + key
			}
			p.Annotations[key] = value
		}
	}
	return state.NewPod(p)
}

// language runs single lines.
func (c *cluster) language(t testing.TB) *scenario.Language {
	t.Helper()
	l, err := scenario.NewLanguage(c.commands())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (c *cluster) commands() scenario.Commands {
	return scenario.Commands{
		"example NAME": func(a scenario.Args) error { // another plugin than everypoint
			c.example = *example(c.t, a.Name(0))
			return nil
		},
		"without PLUGIN…": func(a scenario.Args) error { c.without = a.Names; return nil }, // plugins of the default profile
		"config JSON":     func(a scenario.Args) error { c.ref.Config = []byte(a.Name(0)); return nil },
		"node NAME… [cpu=INT] [*/*=ANNOTATION]": scenario.Each(func(name string, a scenario.Args) error { // the first is preferred
			cpu := int64(1000)
			if a.Has("cpu") {
				cpu = int64(scenario.Int(a.Options["cpu"]))
			}
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), v1.ResourcePods: resource.MustParse("110")}
			for key, value := range a.Options {
				if strings.Contains(key, "/") {
					n.Annotations[key] = value
				}
			}
			c.ranks[name] = uint64(len(c.ranks))
			c.get().SetNode(state.NewNode(n))
			return nil
		}),
		"relabel NODE…": scenario.Each(func(name string, _ scenario.Args) error { // an event, and nothing else
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"changed": fmt.Sprint(c.clock.now.Unix())}}}
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourcePods: resource.MustParse("110")}
			c.get().SetNode(state.NewNode(n))
			return nil
		}),
		"pod NAME… " + podOptions: func(a scenario.Args) error { // all at once
			var pods []*state.Pod
			for _, name := range a.Names {
				p := c.pod(name, a)
				c.pods[p.UID] = p
				pods = append(pods, p)
			}
			c.get().SetPods(pods...)
			return nil
		},
		"delete POD…": scenario.Each(func(name string, _ scenario.Args) error {
			delete(c.pods, types.UID(name))
			c.get().DeletePod(types.UID(name))
			return nil
		}),
		"fail POD…": scenario.Each(func(name string, _ scenario.Args) error { c.failing[name] = true; return nil }), // bindings fail
		"mend POD…": scenario.Each(func(name string, _ scenario.Args) error { delete(c.failing, name); return nil }),
		"hold":      func(scenario.Args) error { c.held = true; return nil }, // bindings wait
		"release": func(scenario.Args) error {
			spawned := c.spawned
			c.held, c.spawned = false, nil
			for _, run := range spawned {
				run()
			}
			return nil
		},
		"advance DURATION": func(a scenario.Args) error {
			c.clock.now = c.clock.now.Add(scenario.Duration(a.Name(0)))
			return nil
		},
		"run": func(scenario.Args) error {
			for i := 0; c.get().Step(context.Background()); i++ {
				if i > 1000 {
					return errors.New("the scheduler does not become idle")
				}
			}
			return nil
		},
		"state": func(scenario.Args) error { c.state(); return nil },
	}
}

// state prints where pods are.
func (c *cluster) state() {
	for place, q := range c.get().Queued() {
		gate := ""
		if q.GatedBy != "" {
			gate = " by " + q.GatedBy + ": " + q.GateReason
		}
		c.log.Printf("  %s is %s%s", q.Pod.Name, place, gate)
	}
	p := c.get().Pending()
	c.log.Printf("  %d waiting, %d binding", p.Waiting, p.Binding)
}

// TestOnePointEach: TestPoints has a scenario for every point of guests.
func TestOnePointEach(t *testing.T) {
	files, err := filepath.Glob("testdata/points/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, point := range manifest(t, func() *wasmexamples.Example { e := wasmexamples.EveryPoint(); return &e }()).Declared() {
		if !strings.Contains(all.String(), "# "+point.String()) {
			t.Errorf("no scenario begins with # %s", point)
		}
	}
}
