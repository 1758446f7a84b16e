package interpodaffinity

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestTermsAreLetGo: terms of deleted pods are removed, and a pod is not checked against terms
// of other pods that cannot match it.
func TestTermsAreLetGo(t *testing.T) {
	p, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := plugintest.NewLiveCluster()
	w.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "z"}}})
	const groups = 50
	name := func(i, j int) string { return fmt.Sprintf("p%d-%d", i, j) }
	for i := range groups {
		for j := range 2 {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name(i, j), UID: types.UID(name(i, j))}}
			pod.Spec.NodeName = "n"
			own := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"group": fmt.Sprint(i)}}}
			all := v1.PodAffinityTerm{TopologyKey: "zone", NamespaceSelector: &metav1.LabelSelector{}, LabelSelector: &metav1.LabelSelector{}}
			pod.Spec.Affinity = &v1.Affinity{
				PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{own, own}},
				PodAffinity:     &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{all}},
			}
			w.SetPod(pod)
		}
	}
	try := func() *plugin.Status {
		w.Update(false)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{"group": "7"}}}
		_, status := p.PreFilter(&plugin.Cycle{Context: context.Background(), Snapshot: w.Snapshot, Pod: state.NewPod(pod), State: &state.CycleState{}})
		return status
	}
	if status := try(); !status.Success() {
		t.Errorf("with pods that repel the pod: %v", status.Message())
	}
	if got := len(p.terms.byKey); got != groups+1 {
		t.Errorf("%d different terms, want %d", got, groups+1)
	}
	looked := 0
	for _, list := range p.terms.buckets {
		looked = max(looked, len(list))
	}
	if looked != 1 {
		t.Errorf("a bucket has %d terms, want 1", looked)
	}
	for i := range groups {
		w.RemovePod(types.UID(name(i, 0)))
	}
	if try(); len(p.terms.byKey) != groups+1 {
		t.Errorf("%d terms are left while one pod of each has them, want %d", len(p.terms.byKey), groups+1)
	}
	for i := range groups {
		w.RemovePod(types.UID(name(i, 1)))
	}
	if status := try(); status == nil || len(p.terms.byKey) != 0 || len(p.terms.buckets) != 0 {
		t.Errorf("without pods: %v, %d terms, %d buckets", status.CodeOf(), len(p.terms.byKey), len(p.terms.buckets))
	}
}
