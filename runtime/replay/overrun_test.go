package replay_test

import (
	"bytes"
	"context"
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
	r := &recordedRun{t: t}
	var err error
	if r.w, err = record.NewWriter(&r.out, record.Config{Ended: func(err error) { t.Error(err) }}); err != nil {
		t.Fatal(err)
	}
	a, owned := &api{}, owners.New()
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

// place adds pods to a namespace and tries them.
func (r *recordedRun) place(namespace string, pods int) {
	for range pods {
		r.pods++
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(r.pods), UID: types.UID(fmt.Sprint(r.pods))}}
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: request("1")}}}
		r.Scheduler.SetPods(state.NewPod(p))
	}
	for r.Scheduler.Step(r.t.Context()) {
	}
}

// text ends the recording and returns it.
func (r *recordedRun) text() string {
	r.t.Helper()
	r.w.Close()
	return formatted(r.t, r.out.Bytes())
}

// recordedWith schedules pods with a module, and returns the recording and how often the module's breaker opened.
func recordedWith(t *testing.T, wasm []byte, limits module.Limits, nodes, pods int) (text string, opened int) {
	t.Helper()
	modules := assembly.NewModules(assembly.ModulesConfig{})
	t.Cleanup(func() { _ = modules.Close(context.Background()) })
	c := assembly.Config{Scheduler: assembly.Default(), Modules: modules}
	if err := loaded(t, modules, wasm, module.Reference{Limits: limits}).Enable(c.Scheduler); err != nil {
		t.Fatal(err)
	}
	r := startRecorded(t, c, nodes)
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
	if _, err := run(t.Context(), t, other.String(), replay.Config{Workers: 1}); !errors.As(err, &differs) || differs.Now == nil {
		t.Errorf("without these events: %v", err)
	}
}

// TestOverrun: a module's calls are ended by their deadline until its breaker opens. A replay ends the same calls, whatever
// the machine does; without these events the calls would run out of fuel instead.
func TestOverrun(t *testing.T) {
	const pods = 8
	recorded, opened := recordedWith(t, wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (loop $l (br $l)) (i32.const 0)))`,
		`{"name": "slow", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["generation"]}}`),
		module.Limits{Deadline: time.Millisecond, FuelPerCall: 3_000_000, FuelPerRow: 1, FuelPerCycle: 1 << 40, FuelRestarts: 1 << 40}, 1500, pods) // two blocks of nodes
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
