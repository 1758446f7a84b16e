package dynamicresources

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin"
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
	const want = "claim ns/<extended-resources>: number of requested devices 40 exceeds the claim limit of 32"
	if got := strings.Join(verdicts.Texts(0), ", "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
