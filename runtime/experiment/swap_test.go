package experiment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/experiment"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/record/recordtest"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// guest returns a module whose filter rejects the nodes that have a label.
func guest(t *testing.T, name, label string) []byte {
	t.Helper()
	return wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param $call i32) (param $low i32) (param $high i32) (result i32) (local $i i32) (local $row i32) (local $column i32)
			(local.set $column (i32.load offset=12 (i32.load offset=24 (i32.load offset=40 (i32.load (local.get $call))))))
			(loop $next
				(local.set $row (i32.add (local.get $low) (local.get $i)))
				(if (i32.load offset=16 (local.get $call)) (then
					(local.set $row (i32.load (i32.add (i32.load offset=16 (local.get $call)) (i32.mul (local.get $i) (i32.const 4)))))))
				(if (i32.load (i32.add (local.get $column) (i32.mul (local.get $row) (i32.const 4)))) (then
					(i32.store8 (i32.add (i32.load offset=24 (local.get $call)) (local.get $i)) (i32.const 2))))
				(local.set $i (i32.add (local.get $i) (i32.const 1)))
				(br_if $next (i32.lt_u (local.get $i) (i32.load offset=20 (local.get $call)))))
			(i32.const 0)))`,
		`{"name": "`+name+`", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"nodeLabels": ["`+label+`"]}}`)
}

func loaded(t *testing.T, modules *assembly.Modules, wasm []byte, ref module.Reference) *assembly.Module {
	t.Helper()
	ref.Path = filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(ref.Path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := modules.Load(ref)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cluster confirms bindings at once.
type cluster struct {
	*assembly.Assembly
	scheduler.Outlet
	t     *testing.T
	clock *clock.Step
	pods  int
}

func (c *cluster) Binding(context.Context, *state.Pod) error   { return nil }
func (c *cluster) Scheduled(*state.Pod, string, state.Feature) {}
func (c *cluster) Failed(scheduler.Failure)                    {}
func (c *cluster) Bind(_ context.Context, b objects.Binding) error {
	c.Scheduler.SetPods(b.Pod.On(b.Node, b.Patch))
	return nil
}

// place lets time pass, and pods come.
func (c *cluster) place(namespace string, pods int) {
	for range pods {
		c.clock.Advance(10 * time.Second)
		c.pods++
		name := fmt.Sprint("p-", c.pods)
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Labels: map[string]string{"pod-template-hash": "5d9"}}}
		controls := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d9", UID: "web", Controller: &controls}}
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
		c.Scheduler.SetPods(state.NewPod(p))
		for c.Scheduler.Step(c.t.Context()) {
		}
	}
}

// withoutFit leaves scores by requests out, so that pods go elsewhere.
func withoutFit() assembly.Config {
	c := assembly.Config{Scheduler: assembly.Default()}
	points := c.Scheduler.Profiles[0].Points
	for i := len(points["score"]) - 1; i >= 0; i-- {
		if name := points["score"][i].Name; name == "NodeResourcesFit" || name == "NodeResourcesBalancedAllocation" {
			points["score"] = slices.Delete(points["score"], i, i+1)
		}
	}
	return c
}

// changes is a scheduler whose plugins change while it is recorded.
type changes struct {
	*cluster
	recorder *recordtest.Recorder
	modules  *assembly.Modules
	folder   *assembly.Folder
	dir      string
}

// recorded starts a scheduler with a module in a folder, which reads the label label-0, and four nodes, each with a label of its own.
func recorded(t *testing.T, segmentBytes int64) *changes {
	t.Helper()
	c := &changes{
		cluster: &cluster{t: t, clock: clock.NewStep(time.Unix(1_000_000, 0))}, recorder: recordtest.New(t, segmentBytes),
		modules: assembly.NewModules(assembly.ModulesConfig{}), dir: t.TempDir(),
	}
	t.Cleanup(func() { _ = c.modules.Close(context.Background()) })
	owned := owners.New()
	var err error
	c.Assembly, err = assembly.New(assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default(), Modules: c.modules}, assembly.Deps{
		Clock: c.clock, Binder: c, Outlet: c, Services: owned, Controllers: owned, Recorder: c.recorder, Spawn: func(run func()) { run() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.write("folder-first", "label-0")
	c.folder, err = c.ReadFolder(t.Context(), assembly.FolderConfig{Dir: c.dir}) // before the first attempt
	if err != nil || c.folder.Status()[0].Err != nil {
		t.Fatal(err, c.folder.Status())
	}
	for i := range 4 {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Labels: map[string]string{
			v1.LabelHostname: fmt.Sprint("node-", i), "karpenter.sh/nodepool": fmt.Sprint("pool-", i%2), fmt.Sprint("label-", i): "",
		}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourcePods: resource.MustParse("100")}
		c.Scheduler.SetNode(state.NewNode(n))
	}
	return c
}

// write writes a module of the folder.
func (c *changes) write(name, label string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name+".wasm"), guest(c.t, name, label), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// sync reads the folder again, which has some modules now.
func (c *changes) sync(modules int) {
	c.t.Helper()
	c.clock.Advance(time.Second)
	if err := c.folder.Sync(c.t.Context()); err != nil || len(c.folder.Status()) != modules {
		c.t.Fatal(err, c.folder.Status())
	}
	for _, s := range c.folder.Status() {
		if s.Err != nil {
			c.t.Fatal(s.Err)
		}
	}
}

// attach attaches the plugins of API objects, in place of those before.
func (c *changes) attach(all ...assembly.Attached) {
	c.t.Helper()
	c.clock.Advance(time.Second)
	if refused, err := c.Attach(c.t.Context(), all); err != nil || len(refused) > 0 {
		c.t.Fatal(refused, err)
	}
}

// own returns a plugin of namespace b.
func (c *changes) own(name, label string) assembly.Attached {
	c.t.Helper()
	wasm := guest(c.t, name, label)
	ref := module.Reference{Name: "b/" + name, Namespaces: []string{"b"}, Tenant: "b", HideSeed: true, HideGeneration: true}
	return assembly.Attached{Name: ref.Name, Module: loaded(c.t, c.modules, wasm, ref), Holds: true, Namespaces: []string{"b"}}
}

// reload switches to a configuration, without the modules of the folder.
func (c *changes) reload(to assembly.Config) {
	c.t.Helper()
	c.clock.Advance(time.Second)
	if _, err := c.Reload(c.t.Context(), to.Scheduler); err != nil {
		c.t.Fatal(err)
	}
}

// changingDay records a day on which plugins change before the first attempt and after it: those of the configuration, of a folder,
// and of API objects. It returns the segments.
func changingDay(t *testing.T, segmentBytes int64) []*bytes.Buffer {
	t.Helper()
	c := recorded(t, segmentBytes)
	c.place("a", 8)
	c.write("folder-second", "label-1")
	c.sync(2)
	c.place("a", 8)
	c.attach(assembly.Attached{Name: "b/later", NotReady: "Compiling", Holds: true, Namespaces: []string{"b"}})
	c.place("b", 4)
	c.attach(c.own("own", v1.LabelHostname))
	c.place("b", 4)
	c.attach()
	c.place("b", 4)
	c.reload(withoutFit())
	c.place("a", 12)
	return c.recorder.Segments()
}

// try runs an experiment.
func try(t *testing.T, recording []byte, change func(assembly.Config, *assembly.Modules) (assembly.Config, error)) (*experiment.Report, error) {
	t.Helper()
	reader, err := record.NewReader(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	modules := assembly.NewModules(assembly.ModulesConfig{Recorded: t.TempDir()})
	defer func() { _ = modules.Close(context.Background()) }()
	return experiment.Run(t.Context(), reader, experiment.Config{
		Modules: modules, Workers: 1, Change: func(a assembly.Config) (assembly.Config, error) { return change(a, modules) },
	})
}

func same(a assembly.Config, _ *assembly.Modules) (assembly.Config, error) { return a, nil }

// asText returns a recording as text, without the lines that begin with some words.
func asText(t *testing.T, recording []byte, without string) string {
	t.Helper()
	reader, err := record.NewReader(bytes.NewReader(recording))
	text := "# " + record.Header
	for err == nil {
		var e inbox.Event
		if e, err = reader.Next(); err != nil {
			break
		}
		line, _ := inbox.Format(e)
		if without == "" || !strings.HasPrefix(line, without) {
			text += line + "\n"
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return text
}

// TestPluginsChange: the simulations have the plugins that the recorded scheduler had at each time, so that each pod is as
// recorded, in a recording of the whole day and in each of its segments.
func TestPluginsChange(t *testing.T) {
	whole := changingDay(t, 0)[0].Bytes()
	r, err := try(t, whole, same)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Moves) > 0 || r.Recording.Same != r.Recording.Pods || r.Recording.Pods != 40 || r.Recording.Swaps != 5 {
		t.Fatalf("%s %+v, %v", r.Reproduced(), r.Moves, err)
	}
	if r.Reproduced() != "With the recorded configuration, the simulation left 40 of 40 pods as recorded (100.0 %)." {
		t.Error(r.Reproduced())
	}
	without, err := try(t, []byte(asText(t, whole, "swap ")), same)
	if err != nil {
		t.Fatal(err)
	}
	if without.Recording.Same > 30 || !strings.Contains(without.Reproduced(), " elsewhere") || !strings.Contains(without.Reproduced(), "compares two simulations") {
		t.Errorf("without the changes of plugins nothing is different: %s, %v", without.Reproduced(), err)
	}
	segments, swaps, exact := changingDay(t, 1000), 0, 0
	for i, segment := range segments {
		r, err := try(t, segment.Bytes(), same)
		if err != nil && strings.Contains(err.Error(), "placed no pod") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		// Where a segment ends, pods may be ready that it does not try any more.
		if others := r.Recording.Others; len(r.Moves) > 0 || len(others) > 1 || len(others) == 1 && others[experiment.Placed] == 0 {
			t.Errorf("segment %d: %s %+v, %v", i, r.Reproduced(), r.Moves, err)
			continue
		}
		swaps += r.Recording.Swaps
		if r.Recording.Same == r.Recording.Pods {
			exact++
		}
	}
	if exact < len(segments)-3 || len(segments) < 10 || swaps == 0 {
		t.Errorf("%d of %d segments are as recorded, %d changes of plugins in them", exact, len(segments), swaps)
	}
}

// TestPluginsComeAndGo: modules of the folder and plugins of API objects come, change and go at drawn times, and each pod is as
// recorded in the simulation.
func TestPluginsComeAndGo(t *testing.T) {
	draw := seeded.Rand(t)
	label := func() string { return fmt.Sprint("label-", draw.IntN(4)) }
	total := map[string]int{}
	for range 5 {
		c := recorded(t, 0)
		files, attached := map[string]bool{"folder-first": true}, true
		c.attach(c.own("own", label()))
		c.place("a", 2)
		steps := []string{"file comes", "file comes", "file comes", "file goes", "object comes", "object comes", "object comes", "object goes"}
		draw.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			switch step {
			case "file comes":
				name := []string{"folder-first", "folder-second"}[draw.IntN(2)]
				total[fmt.Sprint(step, ", was there: ", files[name])]++
				c.write(name, label())
				files[name] = true
				c.sync(len(files))
			case "file goes":
				names := slices.Sorted(maps.Keys(files))
				name := names[draw.IntN(len(names))]
				if err := os.Remove(filepath.Join(c.dir, name+".wasm")); err != nil {
					t.Fatal(err)
				}
				delete(files, name)
				c.sync(len(files))
			case "object comes":
				total[fmt.Sprint(step, ", was there: ", attached)]++
				attached = true
				c.attach(c.own("own", label()))
			default:
				attached = false
				c.attach()
			}
			c.place("a", 3)
			c.place("b", 3)
		}
		r, err := try(t, c.recorder.Segments()[0].Bytes(), same)
		if err != nil {
			t.Fatal(err)
		}
		total["swaps"] += r.Recording.Swaps
		if len(r.Moves) > 0 || r.Recording.Same != r.Recording.Pods || r.Recording.Pods != 50 {
			t.Errorf("%s %+v", r.Reproduced(), r.Moves)
		}
	}
	for _, step := range []string{"file comes, was there: true", "file comes, was there: false", "object comes, was there: true"} {
		if total[step] == 0 {
			t.Errorf("nothing of %q: %v", step, total)
		}
	}
	if total["swaps"] < 20 {
		t.Errorf("%d changes of plugins", total["swaps"])
	}
}

// TestPluginsChangeBesides: a plugin that is tried is there at all times, beside those of the recording, and another configuration
// keeps the modules of the plugin folder.
func TestPluginsChangeBesides(t *testing.T) {
	whole := changingDay(t, 0)[0].Bytes()
	r, err := try(t, whole, func(a assembly.Config, modules *assembly.Modules) (assembly.Config, error) {
		return a, loaded(t, modules, guest(t, "strict", v1.LabelHostname), module.Reference{Namespaces: []string{"a"}}).Enable(a.Scheduler)
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Changes[experiment.Pending] != 28 || r.Recording.Same != 40 {
		t.Errorf("%v, %s", r.Changes, r.Reproduced())
	}
	first := func(groups []experiment.Group) experiment.Group {
		if len(groups) == 0 {
			t.Fatal("no groups")
		}
		return groups[0]
	}
	for _, c := range []struct {
		got         experiment.Group
		name        string
		pods, moves int
	}{
		{first(r.Groups.Controllers), "a/Deployment web", 28, 28}, {first(r.Groups.Namespaces), "a", 28, 28},
		{first(r.Groups.Reasons), "strict: ", 0, 28},
	} {
		if !strings.HasPrefix(c.got.Name, c.name) || c.got.Pods != c.pods || c.got.Moves != c.moves || c.got.Changes[experiment.Pending] != 28 {
			t.Errorf("%+v, want %+v", c.got, c)
		}
	}
	pools := 0
	for _, g := range r.Groups.Pools {
		if strings.HasPrefix(g.Name, "pool-") && strings.HasSuffix(g.Name, " → none") {
			pools += g.Changes[experiment.Pending]
		}
	}
	if pools != 28 {
		t.Errorf("%+v", r.Groups.Pools)
	}

	folders := make(map[string]int)
	_, err = try(t, whole, func(a assembly.Config, _ *assembly.Modules) (assembly.Config, error) {
		next, err := a.WithFolder(withoutFit().Scheduler)
		for _, p := range next.Profiles[0].Points["filter"] {
			folders[p.Name]++
		}
		a.Scheduler = next
		return a, err
	})
	// At the start and at five changes, once to see whether they can be used and once in the simulation.
	if err != nil || folders["folder-first"] != 10 || folders["folder-second"] != 8 || folders["NodeResourcesFit"] != 12 {
		t.Errorf("%v, %v", folders, err)
	}
}

// TestPluginsCannotChange: a plugin that cannot be beside one of the day is refused, before anything takes time, and so is a
// recorded plugin that does not run here.
func TestPluginsCannotChange(t *testing.T) {
	whole := changingDay(t, 0)[0].Bytes()
	_, err := try(t, whole, func(a assembly.Config, modules *assembly.Modules) (assembly.Config, error) {
		return a, loaded(t, modules, guest(t, "folder-second", "label-1"), module.Reference{}).Enable(a.Scheduler)
	})
	if err == nil || !strings.Contains(err.Error(), `when the recorded scheduler changed its plugins at 1970-01-12T13:48:11Z: `) || !strings.Contains(err.Error(), `already has a plugin "folder-second"`) {
		t.Error(err)
	}
}
