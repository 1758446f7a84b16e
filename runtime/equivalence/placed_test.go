package equivalence_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestPlaced: an answer about a node with a pod holds until the pod changes in a column that
// is read, and until another pod comes; not if one in another namespace does.
func TestPlaced(t *testing.T) {
	now := metav1.Now()
	controller, priority := true, int32(7)
	changes := map[string]func(p *v1.Pod){
		"nothing":   func(*v1.Pod) {},
		"namespace": func(p *v1.Pod) { p.Namespace = "b" },
		"priority":  func(p *v1.Pod) { p.Spec.Priority = &priority },
		"cpu":       func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2") },
		"memory": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("2Gi")
		},
		"label app":       func(p *v1.Pod) { p.Labels["app"] = "y" },
		"label tier":      func(p *v1.Pod) { p.Labels["tier"] = "y" },
		"annotation note": func(p *v1.Pod) { p.Annotations["note"] = "y" },
		"annotation more": func(p *v1.Pod) { p.Annotations["more"] = "y" },
		"owner":           func(p *v1.Pod) { p.OwnerReferences[0].Name = "y" },
		"deletion":        func(p *v1.Pod) { p.DeletionTimestamp = &now },
		"uid":             func(p *v1.Pod) { p.UID = "y" },
		"name":            func(p *v1.Pod) { p.Name = "y" },
		"status":          func(p *v1.Pod) { p.Status.Phase = v1.PodFailed },
		"running":         func(p *v1.Pod) { p.Status.Phase = v1.PodRunning },
		"ready": func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		},
		"creation": func(p *v1.Pod) { p.CreationTimestamp = now },
		"class":    func(p *v1.Pod) { p.Status.QOSClass = v1.PodQOSGuaranteed },
		"assignment": func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: now}}
		},
		"cpu limit": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("7")}
		},
		"memory limit": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("7")}
		},
	}
	for _, test := range []struct {
		reads      plugin.Read
		namespaces []string
		counts     []string
	}{
		{reads: plugin.Read{Column: abi.NodePods, Args: []string{}}}, // how many there are
		{plugin.Read{Column: abi.PodNamespace}, nil, []string{"namespace"}},
		{plugin.Read{Column: abi.PodPriority}, nil, []string{"priority"}},
		{plugin.Read{Column: abi.PodRequests, Args: []string{"cpu"}}, nil, []string{"cpu"}},
		{plugin.Read{Column: abi.PodRequests}, nil, []string{"cpu", "memory"}},
		{plugin.Read{Column: abi.PodLabels}, nil, []string{"label app", "label tier"}},
		{plugin.Read{Column: abi.PodLabel, Args: []string{"app"}}, nil, []string{"label app"}},
		{plugin.Read{Column: abi.PodAnnotations, Args: []string{"note"}}, nil, []string{"annotation note"}},
		{plugin.Read{Column: abi.PodOwner}, nil, []string{"owner"}},
		{plugin.Read{Column: abi.PodFlags}, nil, []string{"deletion"}},
		{plugin.Read{Column: abi.PodUID}, nil, []string{"uid"}},
		{plugin.Read{Column: abi.PlacedPodName}, nil, []string{"name"}},
		{plugin.Read{Column: abi.PlacedPodLimits, Args: []string{"cpu"}}, nil, []string{"cpu limit"}},
		{plugin.Read{Column: abi.PlacedPodLimits}, nil, []string{"cpu limit", "memory limit"}},
		{plugin.Read{Column: abi.PlacedPodQOS}, nil, []string{"class"}},
		{plugin.Read{Column: abi.PlacedPodAssignedAt}, nil, []string{"assignment"}},
		{plugin.Read{Column: abi.PlacedPodCreatedAt}, nil, []string{"creation"}},
		{plugin.Read{Column: abi.PlacedPodState}, nil, []string{"running", "ready"}},
		{plugin.Read{Column: abi.PodLabels}, []string{"b"}, []string{"namespace"}},
		{plugin.Read{Column: abi.PodLabels}, []string{"a"}, []string{"label app", "label tier", "namespace"}},
	} {
		want := map[string]bool{"another pod": test.namespaces == nil}
		for _, name := range test.counts {
			want[name] = true
		}
		info := plugin.Info{Name: "P", Namespaces: test.namespaces, NodeScoped: []abi.Point{abi.Score}, Reads: []plugin.Read{test.reads}}
		if test.reads.Column != abi.NodePods {
			info.Reads = append(info.Reads, plugin.Read{Column: abi.NodePods, Args: []string{}})
		}
		cache := equivalence.New(equivalence.Config{Bytes: 1 << 20}).PluginCache(&byLabel{info})
		generation := uint64(0)
		snapshot := state.NewSnapshot()
		node := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		// show puts pods on the node, and returns the score that is held, 0 for none.
		show := func(pods ...*v1.Pod) int64 {
			generation++
			row := &state.NodeInfo{Name: "n", Node: node, ObjectGeneration: 1, PodsGeneration: generation}
			for i, p := range pods {
				row.Pods = append(row.Pods, state.PlacedPod{Slot: uint32(i), Pod: state.NewPod(p), Generation: generation})
			}
			snapshot.Update([]*state.NodeInfo{row}, []uint32{0}, nil)
			c := &plugin.Cycle{Snapshot: snapshot, Pod: state.NewPod(&v1.Pod{})}
			a := cache.Lookup(c, nil)
			if a == nil { // of the first pod nothing is kept
				a = cache.Lookup(c, nil)
			}
			a.Scores()
			score, _ := a.Score(0)
			a.KeepScore(0, 5)
			return score
		}
		pod := func() *v1.Pod {
			return &v1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: "x", Namespace: "a", UID: "x", Labels: map[string]string{"app": "x", "tier": "x"}, Annotations: map[string]string{"note": "x", "more": "x"},
					OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "x", Controller: &controller}},
				},
				Spec: v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
					v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi"),
				}}}}},
			}
		}
		show(pod())
		for name, change := range changes {
			changed := pod()
			change(changed)
			if held := show(changed) != 0; held == want[name] {
				t.Errorf("%v in %v: the answer is held after a change of %s: %v", info.Reads, test.namespaces, name, held)
			}
			if show(pod()) == 0 {
				t.Errorf("%v in %v: the answer is not held again after a change of %s and back", info.Reads, test.namespaces, name)
			}
		}
		other := pod()
		other.Name, other.UID, other.Namespace = "z", "z", "c"
		if held := show(pod(), other) != 0; held == want["another pod"] {
			t.Errorf("%v in %v: the answer is held after another pod came: %v", info.Reads, test.namespaces, held)
		}
	}
}
