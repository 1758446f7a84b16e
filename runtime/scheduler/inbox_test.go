package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

func made(t *testing.T, name, options string) *state.Pod {
	t.Helper()
	p, err := fake.Pod(name, scenario.MustParse(options))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestInboxGathersPods: pods that arrive one by one are gated together, and two versions of a
// pod among them are handled in order.
func TestInboxGathersPods(t *testing.T) {
	w := newWorld(t, nil)
	w.observer = nil
	w.declare("A", scenario.MustParse("gate=ok"))
	s := w.get()
	node, _ := fake.Node("n", scenario.Args{})
	s.SetNode(node)
	for i := range 10 {
		s.SetPods(made(t, fmt.Sprint("p", i), "version=1"))
	}
	s.SetPods(made(t, "p3", "version=2 on=n")) // bound by another scheduler meanwhile
	s.SetPods(made(t, "p4", "version=2 label=x"))
	s.DeletePod("p5")
	s.SetPods(made(t, "p6", "version=2 label=x"))
	var queued []string
	if err := func() error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Standby(ctx)
		}()
		err := s.Do(ctx, func() {
			for _, q := range s.Queued() {
				queued = append(queued, q.Pod.Name+q.Pod.Object.Labels["l"])
			}
		})
		cancel()
		<-done
		return err
	}(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(queued); got != "[p0 p1 p2 p4x p6x p7 p8 p9]" {
		t.Errorf("queued are %s", got)
	}
	if s.Totals().Attempts != 0 {
		t.Error("a replica on standby has tried a pod")
	}
	for _, p := range s.Totals().Plugins {
		if p.Plugin == "A" && p.Point == abi.PreEnqueue && p.Calls > 2 { // p0 to p9, and the others when p3 is bound
			t.Errorf("%d calls of the gate for 10 pods", p.Calls)
		}
	}
	if pod, ok := cachedPod(s.Cached(), "p3"); !ok || pod.NodeName() != "n" {
		t.Error("p3 is not on its node")
	}
}

func cachedPod(all func(func(*state.Pod, bool) bool), uid types.UID) (found *state.Pod, ok bool) {
	all(func(p *state.Pod, _ bool) bool {
		if p.UID == uid {
			found, ok = p, true
		}
		return !ok
	})
	return found, ok
}

// TestDo: a call waits for the loop, and ends with its context.
func TestDo(t *testing.T) {
	s := newWorld(t, nil).get()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := s.Do(ctx, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a loop that does not run: %v", err)
	}
}

// keeper keeps one object. Each change is an event if it tells.
type keeper struct {
	tells bool
	now   metav1.Object
}

func (k *keeper) Change(object metav1.Object, gone bool) (state.ClusterEvent, state.Object, bool) {
	k.now = object
	if gone {
		k.now = nil
	}
	return state.ClusterEvent{Resource: state.PersistentVolumeResource, Action: state.Add}, state.Object{}, k.tells
}

func (k *keeper) All() []metav1.Object { return []metav1.Object{k.now} } // perhaps nil, which nobody reads

func (k *keeper) Written(claim *resourcev1.ResourceClaim) (state.ClusterEvent, state.Object, bool) {
	return k.Change(claim, false)
}

// TestObjects: an object is stored between two attempts, and its event wakes the pods that wait for
// it.
func TestObjects(t *testing.T) {
	w := newWorld(t, nil)
	w.observer = nil
	k := &keeper{}
	w.objects = k
	w.declare("A", scenario.MustParse("filter=n=unschedulable:no events=PersistentVolume/Add"))
	s := w.get()
	node, _ := fake.Node("n", scenario.Args{})
	s.SetNode(node)
	s.SetPods(made(t, "p", ""))
	w.run()
	s.SetObject(&v1.PersistentVolume{})
	w.run()
	if k.now == nil || s.Pending().Queue.Unschedulable != 1 {
		t.Errorf("stored %v, %+v", k.now, s.Pending())
	}
	k.tells = true
	s.DeleteObject(&v1.PersistentVolume{})
	w.run()
	if k.now != nil || s.Pending().Queue.Backoff+s.Pending().Queue.Active == 0 && s.Totals().Attempts < 2 {
		t.Errorf("stored %v, %+v", k.now, s.Pending())
	}
}
