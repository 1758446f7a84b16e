package dynamicresources

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestSearchedName: errors call the claim for extended resources what kube-scheduler's call it.
func TestSearchedName(t *testing.T) {
	f := newFleet(t, 1, false)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"deviceclass.resource.kubernetes.io/gpu": resource.MustParse("40")}},
	}}}}
	c := &plugin.Cycle{Context: t.Context(), Snapshot: f.snapshot, Pod: state.NewPod(pod), State: &state.CycleState{}}
	if _, status := f.plugin.PreFilter(c); !status.Success() {
		t.Fatal(status)
	}
	var verdicts plugin.Verdicts
	verdicts.Reset(1)
	f.plugin.Filter(c, f.rows, &verdicts)
	const want = "claim ns/<extended-resources>, request container-0-request-0: adding 40 devices exceeds the claim limit of 32, with 0 already accounted for"
	if got := strings.Join(verdicts.Texts(0), ", "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// stuck is an API server that creates claims, and then is gone.
type stuck struct{ objects.ClaimWriter }

func (stuck) Create(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return claim, nil
}

func (stuck) Update(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return nil, io.ErrUnexpectedEOF
}

func (stuck) Delete(*resourcev1.ResourceClaim) <-chan struct{} { return nil }

// TestStopWhileDeleting: the end of the scheduler does not wait for a claim to be deleted. A pod that must make room for another
// does: its devices may still be allocated.
func TestStopWhileDeleting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &DynamicResources{deps: Deps{Writer: stuck{}, Wall: time.Now}}
		claim := podClaim{object: &resourcev1.ResourceClaim{}, special: &variant{}, allocation: &resourcev1.AllocationResult{}}
		running, stop := context.WithCancel(t.Context())
		ctx, interrupt := context.WithCancel(running)
		var err error
		ended := false
		go func() {
			err = d.bindSpecial(running, &plugin.Placement{Context: ctx, Pod: state.NewPod(&v1.Pod{})}, &claim)
			ended = true
		}()
		if synctest.Wait(); ended {
			t.Error("the devices are free, although the claim may exist")
		}
		interrupt()
		if synctest.Wait(); ended {
			t.Error("the devices are free for the preemptor, although the claim may exist")
		}
		stop()
		if synctest.Wait(); !ended || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("after the end: %v, %v", ended, err)
		}
	})
}
