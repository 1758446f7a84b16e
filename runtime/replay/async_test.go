package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/state"
)

// slow binds after a while, not always, and confirms later.
type slow struct {
	api
	rand *rand.Rand
}

func (s *slow) Bind(_ context.Context, b objects.Binding) error {
	time.Sleep(time.Duration(s.rand.IntN(2000)) * time.Microsecond)
	if s.rand.IntN(10) == 0 {
		return errors.New("conflict")
	}
	go func() {
		time.Sleep(time.Duration(s.rand.IntN(1000)) * time.Microsecond)
		s.scheduler.SetPods(b.Pod.On(b.Node, b.Patch))
	}()
	return nil
}

// TestAsynchronous: bindings end in any order while pods and nodes come and go, by the real clock. Each segment
// of the recording repeats alone.
func TestAsynchronous(t *testing.T)     { asynchronous(t) }
func TestRestAsynchronous(t *testing.T) { asynchronous(t) }

func asynchronous(t *testing.T) {
	t.Helper()
	segments := []*bytes.Buffer{{}}
	w, err := record.NewWriter(segments[0], record.Config{
		SegmentBytes: 30_000, Ended: func(err error) { t.Error(err) },
		Next: func() (io.Writer, error) {
			segments = append(segments, &bytes.Buffer{})
			return segments[len(segments)-1], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, owned := &slow{rand: seeded.Rand(t)}, owners.New()
	s, err := assembly.New(assembly.Config{Seed: 1, Workers: 2, Scheduler: assembly.Default()}, assembly.Deps{
		Binder: b, Outlet: b, Services: owned, Controllers: owned, Objects: stores.New(), Recorder: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b.scheduler = s.Scheduler
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Scheduler.Run(ctx) }()
	node := func(i int) {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(20, resource.DecimalSI), v1.ResourcePods: resource.MustParse("100")}
		s.Scheduler.SetNode(state.NewNode(n))
	}
	for i := range 10 {
		node(i)
	}
	pods := 1000
	if !testrest.In(t) {
		pods = 300
	}
	for i := range pods {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}}
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: request("1")}}}
		s.Scheduler.SetPods(state.NewPod(p))
		if i >= 150 {
			s.Scheduler.DeletePod(types.UID(fmt.Sprint(i - 150)))
		}
		if i%50 == 0 {
			s.Scheduler.DeleteNode(fmt.Sprint("node-", i/50%10))
			node(i / 50 % 10)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.Close()
	attempts := s.Scheduler.Totals().Attempts
	for _, workers := range []int{1, 8} {
		decisions, placed := 0, 0
		for i, segment := range segments {
			r, err := run(t.Context(), t, segment.String(), replay.Config{Workers: workers})
			if err != nil {
				t.Fatalf("segment %d of %d: %v", i+1, len(segments), err)
			}
			decisions += r.Decisions
			placed += r.Placed
		}
		if uint64(decisions) != attempts || placed < pods/2 || len(segments) < 2 {
			t.Errorf("%d segments have %d decisions, %d for a node; there were %d", len(segments), decisions, placed, attempts)
		}
	}
}
