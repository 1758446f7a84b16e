package replay_test

import (
	"bytes"
	"context"
	"fmt"
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
	"github.com/berth-scheduler/berth/runtime/record/recordtest"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/state"
)

// closing rejects the nodes that have the annotation example.com/closed.
func closing(t *testing.T) []byte {
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
		`{"name": "closing", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"nodeAnnotations": ["example.com/closed"]}}`)
}

// TestWidened: a plugin that is attached in the middle reads annotations which the recording has left out of the nodes. With segments,
// the next one begins at once and has them, so that every decision is repeated. A recording without segments says that it cannot be
// repeated from there on.
func TestWidened(t *testing.T) {
	for _, size := range []int64{0, 1 << 30} {
		modules := assembly.NewModules(assembly.ModulesConfig{})
		t.Cleanup(func() { _ = modules.Close(context.Background()) })
		w, a, owned := recordtest.New(t, size), &api{}, owners.New()
		s, err := assembly.New(assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default(), Modules: modules}, assembly.Deps{
			Clock: clock.NewStep(time.Unix(0, 0)), Binder: a, Outlet: a, Services: owned, Controllers: owned, Recorder: w, Spawn: func(run func()) { run() },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		a.scheduler = s.Scheduler
		for i := range 4 {
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Annotations: map[string]string{"example.com/other": "x"}}}
			if i > 0 {
				n.Annotations["example.com/closed"] = "yes"
			}
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourcePods: resource.MustParse("100")}
			s.Scheduler.SetNode(state.NewNode(n))
		}
		pods := 0
		place := func(n int) {
			for range n {
				pods++
				p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(pods), UID: types.UID(fmt.Sprint(pods))}}
				p.Spec.SchedulerName = v1.DefaultSchedulerName
				p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: request("1")}}}
				s.Scheduler.SetPods(state.NewPod(p))
			}
			for idle := 0; idle < 2; idle++ { // where a segment begins, a step tries nothing
				for s.Scheduler.Step(t.Context()) {
					idle = 0
				}
			}
		}
		place(6)
		m := loaded(t, modules, closing(t), module.Reference{Name: "ns/closing"})
		for range 2 { // it comes, goes, and comes again
			if refused, err := s.Attach(t.Context(), []assembly.Attached{{Name: "ns/closing", Module: m, Holds: true}}); err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
			place(6)
			if _, err := s.Attach(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			place(2)
		}
		segments := w.Segments()
		if size == 0 {
			text := formatted(t, segments[0].Bytes())
			_, err := run(t.Context(), t, text, replay.Config{Workers: 1})
			if len(segments) != 1 || err == nil || !strings.Contains(err.Error(), "cannot be replayed: plugins read annotations that were not recorded before: example.com/closed") {
				t.Errorf("%d segments, %v", len(segments), err)
			}
			continue
		}
		decisions, node0 := 0, 0
		for i, segment := range segments {
			text := formatted(t, segment.Bytes())
			if strings.Contains(text, "example.com/other\"") || strings.Contains(text, "example.com/closed\\\":\\\"yes") != (i > 0) && strings.Contains(text, `"example.com/closed":"yes"`) != (i > 0) {
				t.Errorf("segment %d has other annotations", i)
			}
			r, err := run(t.Context(), t, text, replay.Config{Workers: 1})
			if err != nil || r.Cut {
				t.Fatalf("segment %d: %+v, %v", i, r, err)
			}
			if (r.Why != "") != (i < len(segments)-1) {
				t.Errorf("segment %d ends because %q", i, r.Why)
			}
			decisions += r.Decisions
			node0 += strings.Count(text, "Success node=node-0 ")
		}
		if len(segments) != 2 || decisions != pods || node0 < 12 {
			t.Errorf("%d segments, %d decisions for %d pods, %d of them for node-0", len(segments), decisions, pods, node0)
		}
		if !bytes.Contains([]byte(formatted(t, segments[0].Bytes())), []byte(`end reason="plugins came that read annotations`)) {
			t.Error("the first segment does not say why it ends")
		}
	}
}
