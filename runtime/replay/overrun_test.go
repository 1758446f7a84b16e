package replay_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/state"
)

// recordedRun is a scheduler that is recorded.
type recordedRun struct {
	*assembly.Assembly
	t    *testing.T
	api  *api
	w    *record.Writer
	out  bytes.Buffer
	pods int
}

// loaded writes a module and loads it.
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

// startRecorded makes a scheduler that is recorded, with some nodes.
func startRecorded(t *testing.T, c assembly.Config, nodes int) *recordedRun {
	t.Helper()
	a, owned := &api{}, owners.New()
	r := &recordedRun{t: t, api: a}
	var err error
	if r.w, err = record.NewWriter(&r.out, record.Config{Ended: func(err error) { t.Error(err) }}); err != nil {
		t.Fatal(err)
	}
	c.Seed, c.Workers = 1, 2
	r.Assembly, err = assembly.New(c, assembly.Deps{
		Clock: clock.NewStep(time.Unix(0, 0)), Binder: a, Outlet: a, Services: owned, Controllers: owned, Recorder: r.w, Spawn: func(run func()) { run() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	a.scheduler = r.Scheduler
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("20")}
		r.Scheduler.SetNode(state.NewNode(n))
	}
	return r
}

// add adds a pod.
func (r *recordedRun) add(namespace, cpu string, priority int32) {
	r.pods++
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(r.pods), UID: types.UID(fmt.Sprint(r.pods))}}
	p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, &priority
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: request(cpu)}}}
	r.Scheduler.SetPods(state.NewPod(p))
}

// settle continues until there is nothing to do.
func (r *recordedRun) settle() {
	for r.Scheduler.Step(r.t.Context()) {
	}
}

// place adds pods to a namespace and tries them.
func (r *recordedRun) place(namespace string, pods int) {
	for range pods {
		r.add(namespace, "1", 0)
	}
	r.settle()
}

// text ends the recording and returns it.
func (r *recordedRun) text() string {
	r.t.Helper()
	r.w.Close()
	return formatted(r.t, r.out.Bytes())
}

// startWith makes a scheduler with a module, which is recorded.
func startWith(t *testing.T, wasm []byte, limits module.Limits, nodes int) *recordedRun {
	t.Helper()
	modules := assembly.NewModules(assembly.ModulesConfig{})
	t.Cleanup(func() { _ = modules.Close(context.Background()) })
	c := assembly.Config{Scheduler: assembly.Default(), Modules: modules}
	if err := loaded(t, modules, wasm, module.Reference{Limits: limits}).Enable(c.Scheduler); err != nil {
		t.Fatal(err)
	}
	return startRecorded(t, c, nodes)
}

// recordedWith schedules pods with a module, and returns the recording and how often the module's breaker opened.
func recordedWith(t *testing.T, wasm []byte, limits module.Limits, nodes, pods int) (text string, opened int) {
	t.Helper()
	r := startWith(t, wasm, limits, nodes)
	r.place("ns", pods)
	return r.text(), r.Status().Plugins[0].Breaker.Opened
}

// repeats replays a recording, and again with lines changed, which must differ.
func repeats(t *testing.T, recorded string, decisions int, change func(line string) string) {
	t.Helper()
	for _, workers := range []int{1, 8} {
		if r, err := run(t.Context(), t, recorded, replay.Config{Workers: workers}); err != nil || r.Decisions != decisions {
			t.Errorf("%+v, %v", r, err)
		}
	}
	var other strings.Builder
	for line := range strings.Lines(recorded) {
		other.WriteString(change(line))
	}
	var differs *replay.Difference
	switch r, err := reworded(t.Context(), t, other.String(), replay.Config{Workers: 1}); {
	case err == nil && r.Reworded > 0: // the texts differ
	case !errors.As(err, &differs) || differs.Now == nil:
		t.Errorf("without these events: %v", err)
	}
}

// spinning returns a module whose filter does not end.
func spinning(t *testing.T) []byte {
	t.Helper()
	return wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (loop $l (br $l)) (i32.const 0)))`,
		`{"name": "slow", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["generation"]}}`)
}

// shortDeadline returns limits with which the deadline comes before the end of the fuel.
func shortDeadline() module.Limits {
	return module.Limits{Deadline: time.Millisecond, FuelPerCall: 3_000_000, FuelPerRow: 1, FuelPerCycle: 1 << 40, FuelRestarts: 1 << 40}
}

// TestOverrun: a module's calls are ended by their deadline until its breaker opens. A replay ends the same calls, whatever
// the machine does; without these events the calls would run out of fuel instead.
func TestOverrun(t *testing.T) {
	const pods = 8
	recorded, opened := recordedWith(t, spinning(t), shortDeadline(), 1500, pods) // two blocks of nodes
	if n := strings.Count(recorded, "\noverrun default-scheduler slow Filter "); n < 5 || n >= 2*pods || opened != 1 {
		t.Errorf("%d overruns are recorded, the breaker opened %d times", n, opened)
	}
	repeats(t, recorded, pods, func(line string) string {
		if strings.HasPrefix(line, "overrun ") {
			return ""
		}
		return line
	})
}

// TestAlike: of several calls about the same hypothetical node, the one that its deadline ended is the one that a replay
// ends. With the first call ended instead, the node would be no candidate.
func TestAlike(t *testing.T) {
	r := startWith(t, wat.Compile(t, `(module
		(memory (export "memory") 40)
		(global $calls (mut i32) (i32.const 0))
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32)
			(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
			(if (i32.eq (global.get $calls) (i32.const 6)) (then (loop $l (br $l))))
			(i32.const 0)))`,
		`{"name": "slow", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["generation"]}}`),
		module.Limits{Deadline: time.Millisecond, FuelPerCall: 300_000_000, FuelPerRow: 1, FuelPerCycle: 1 << 40, FuelRestarts: 1 << 40}, 1)
	r.place("ns", 4)
	r.add("ns", "2", 1000) // it preempts some of them: one call with all removed, and one for each that stays
	r.settle()
	recorded := r.text()
	if strings.Count(recorded, "\noverrun ") != 1 || !strings.Contains(recorded, "\noverrun default-scheduler slow Filter pod=5 call=1 fuel=") {
		t.Fatalf("no overrun of the second call, or more:\n%s", recorded)
	}
	repeats(t, recorded, strings.Count(recorded, "\ndecision "), func(line string) string {
		if strings.HasPrefix(line, "overrun ") {
			return strings.Replace(line, " call=1 ", " ", 1)
		}
		return line
	})
}

// TestInterrupted: calls that end with their context do not count for the breaker. Without the events they would run
// out of fuel, which counts.
func TestInterrupted(t *testing.T) {
	const pods = 8
	r := startWith(t, wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
		(func (export "berth_reserve") (param i32) (result i32) (i32.const 0))
		(func (export "berth_unreserve") (param i32) (result i32) (loop $l (br $l)) (i32.const 0)))`,
		`{"name": "slow", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}, "reserve": {}, "unreserve": {}}, "reads": {"node": ["generation"]}}`),
		module.Limits{FuelPerCall: 3_000_000}, 3)
	r.api.fails = true
	for range pods {
		r.add("ns", "1", 0)
		ctx, cancel := context.WithCancel(t.Context())
		r.Scheduler.Step(ctx)
		cancel() // before the loop learns that the binding has failed
		r.settle()
	}
	recorded := r.text()
	if n, opened := strings.Count(recorded, "\noverrun default-scheduler slow Unreserve "), r.Status().Plugins[0].Breaker.Opened; n != pods || n != strings.Count(recorded, " interrupted=true ") || opened != 0 {
		t.Fatalf("%d interruptions are recorded, the breaker opened %d times:\n%s", n, opened, recorded)
	}
	repeats(t, recorded, pods, func(line string) string {
		if strings.HasPrefix(line, "overrun ") {
			return ""
		}
		return line
	})
}

// TestActed: calls end early while the loop acts on a decision, too, and a swap's modules come at any time.
func TestActed(t *testing.T) {
	recorded, _ := recordedWith(t, spinning(t), shortDeadline(), 3, 2)
	var text strings.Builder
	late, modules := "", 0
	for line := range strings.Lines(recorded) {
		switch {
		case strings.HasPrefix(line, "overrun "):
			late += line
			continue
		case strings.HasPrefix(line, "step"):
			modules++ // each is another one
			other := fmt.Append(nil, "other ", modules)
			digest := module.Digest(other)
			bytes := base64.RawURLEncoding.EncodeToString(other)
			line += "module " + strings.TrimPrefix(digest, "sha256:") + ".wasm " + digest + " bytes=" + bytes + "\n"
		case strings.HasPrefix(line, "decision "):
			line += late
			late = ""
		}
		text.WriteString(line)
	}
	if r, err := run(t.Context(), t, text.String(), replay.Config{Workers: 1}); err != nil || r.Decisions != 2 || !strings.Contains(recorded, "\noverrun ") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestBeside: a module fails in binding cycles, which a replay does not run, until its breaker opens and it is not asked
// about nodes either.
func TestBeside(t *testing.T) {
	recorded, opened := recordedWith(t, wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
		(func (export "berth_pre_bind") (param i32) (result i32) unreachable))`,
		`{"name": "broken", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}, "preBind": {}}, "reads": {"node": ["generation"]}}`),
		module.Limits{}, 3, 12)
	if n := strings.Count(recorded, `"kind":"trap"`); n < 3 || n >= 12 || opened != 1 {
		t.Errorf("%d faults are recorded, the breaker opened %d times", n, opened)
	}
	repeats(t, recorded, strings.Count(recorded, "\ndecision "), func(line string) string {
		before, after, found := strings.Cut(line, " beside=")
		if !found {
			return line
		}
		_, after, _ = strings.Cut(after, "]`")
		return before + after
	})
}
