package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// api confirms bindings at once, unless it fails.
type api struct {
	scheduler.Outlet
	scheduler *scheduler.Scheduler
	fails     bool
}

func (a *api) Binding(context.Context, *state.Pod) error   { return nil }
func (a *api) Scheduled(*state.Pod, string, state.Feature) {}
func (a *api) Failed(scheduler.Failure)                    {}
func (a *api) Bind(_ context.Context, b objects.Binding) error {
	if a.fails {
		return errors.New("conflict")
	}
	a.scheduler.SetPods(b.Pod.On(b.Node, b.Patch))
	return nil
}

func request(cpu string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
}

// formatted returns a recording as text.
func formatted(t *testing.T, recording []byte) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("# " + record.Header)
	reader, err := record.NewReader(bytes.NewReader(recording))
	for err == nil {
		var e inbox.Event
		if e, err = reader.Next(); err == nil {
			var line string
			if line, err = inbox.Format(e); err == nil {
				text.WriteString(line + "\n")
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return text.String()
}

// TestSwap: plugins are replaced in the middle of a recording. NodeResourcesFit prefers the empty node first,
// and then is no longer asked, so that another plugin decides.
func TestSwap(t *testing.T) {
	var out bytes.Buffer
	w, err := record.NewWriter(&out, record.Config{Ended: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	a, owned := &api{}, owners.New()
	c := assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default()}
	s, err := assembly.New(c, assembly.Deps{
		Clock: clock.NewStep(time.Unix(0, 0)), Binder: a, Outlet: a, Services: owned, Controllers: owned, Recorder: w, Spawn: func(run func()) { run() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a.scheduler = s.Scheduler
	for i, name := range []string{"small", "large"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(8+8*i), resource.DecimalSI), v1.ResourcePods: resource.MustParse("20")}
		s.Scheduler.SetNode(state.NewNode(n))
	}
	pods := func(from, to int) {
		for i := from; i < to; i++ {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}}
			p.Spec.SchedulerName = v1.DefaultSchedulerName
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: request("1")}}}
			s.Scheduler.SetPods(state.NewPod(p))
		}
		for s.Scheduler.Step(t.Context()) {
		}
	}
	pods(0, 6)
	next := assembly.Default()
	for i := range next.Profiles {
		points := next.Profiles[i].Points
		for j, p := range points["score"] {
			if p.Name == "NodeResourcesFit" {
				points["score"] = append(points["score"][:j:j], points["score"][j+1:]...)
				break
			}
		}
	}
	if _, err := s.Reload(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	pods(6, 12)
	w.Close()

	text := formatted(t, out.Bytes())
	for _, workers := range []int{1, 8} {
		if r, err := run(t.Context(), t, text, replay.Config{Workers: workers}); err != nil || r.Placed != 12 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	// Without the swap the plugins would decide otherwise.
	lines := strings.SplitAfter(text, "\n")
	without := ""
	for _, line := range lines {
		if !strings.HasPrefix(line, "swap ") {
			without += line
		}
	}
	var differs *replay.Difference
	if _, err := run(t.Context(), t, without, replay.Config{Workers: 1}); without == text || !errors.As(err, &differs) {
		t.Errorf("without the swap: %v", err)
	}
}
