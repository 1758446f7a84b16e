package equivalence_test

import (
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// scene is all from which an answer can come: a node with a pod on it, the pod to be placed, and its namespace.
type scene struct {
	node        *v1.Node
	placed, pod *v1.Pod
	nominated   *v1.Pod
	namespace   map[string]string // labels
	feed        state.Cell
	now         int64
}

func newScene() *scene {
	pod := func(name string) *v1.Pod {
		controller, priority := true, int32(1)
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "a", UID: "x", Labels: map[string]string{"k": "x"}, Annotations: map[string]string{"k": "x"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "x", Controller: &controller}},
			},
			Spec: v1.PodSpec{Priority: &priority, Containers: []v1.Container{{
				Image: "x", Ports: []v1.ContainerPort{{HostPort: 1}},
				Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}},
			}}},
		}
	}
	s := &scene{placed: pod("placed"), pod: pod("pod"), namespace: map[string]string{"k": "x"}}
	s.placed.Status.Conditions = assigned(6)
	text := "x"
	s.feed = state.Cell{Value: 1, State: 1, Since: 5, Columns: &state.Columns{Numbers: [][]int64{{1, 2}, nil}, Texts: [][]*string{nil, {nil, &text}}}}
	s.node = &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"k": "x", v1.LabelTopologyZone: "x"}, Annotations: map[string]string{"k": "x"}},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}},
	}
	return s
}

// assigned is the condition of a pod that got its node at a time.
func assigned(at int64) []v1.PodCondition {
	return []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(at, 0)}}
}

// changes has for each entry of which answers are kept a change of what it shows.
func changes() map[abi.ColumnID]func(s *scene) {
	text := "x"
	now := metav1.Now()
	seconds, shared, never, group := int64(7), false, v1.PreemptNever, "y"
	cpu := func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2") }
	affinity := func(a v1.NodeAffinity) func(s *scene) {
		return func(s *scene) { s.pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &a} }
	}
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "k", Operator: v1.NodeSelectorOpIn, Values: []string{"x"}}}}
	required := affinity(v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}})
	preferred := affinity(v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: term}}})
	return map[abi.ColumnID]func(s *scene){
		abi.NodeName:             func(s *scene) { s.node.Name = "y" },
		abi.NodeFlags:            func(s *scene) { s.node.Spec.Unschedulable = true },
		abi.NodeAllocatable:      func(s *scene) { s.node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("2") },
		abi.NodeRequested:        func(s *scene) { cpu(s.placed) },
		abi.NodeNonZeroRequested: func(s *scene) { cpu(s.placed) },
		abi.NodeLabels:           func(s *scene) { s.node.Labels["other"] = "y" },
		abi.NodeAnnotations:      func(s *scene) { s.node.Annotations["k"] = "y" },
		abi.NodeTaints:           func(s *scene) { s.node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} },
		abi.NodePorts:            func(s *scene) { s.placed.Spec.Containers[0].Ports[0].HostPort = 2 },
		abi.NodeImages:           func(s *scene) { s.node.Status.Images = []v1.ContainerImage{{Names: []string{"y"}}} },
		abi.NodeConditions:       func(s *scene) { s.node.Status.Conditions = []v1.NodeCondition{{Type: "k", Status: v1.ConditionTrue}} },
		abi.NodePods:             func(s *scene) { s.placed = nil },
		abi.NodeGenerations:      func(s *scene) { s.node.Annotations["other"] = "y" },
		abi.NodeLabel:            func(s *scene) { s.node.Labels["k"] = "y" },
		abi.NodeZone:             func(s *scene) { s.node.Labels[v1.LabelTopologyZone] = "y" },
		abi.NodeCapacity:         func(s *scene) { s.node.Status.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("9")} },
		abi.NodeCreatedAt:        func(s *scene) { s.node.CreationTimestamp = metav1.Unix(1, 0) },
		abi.NodeNominated:        func(s *scene) { s.nominated = s.pod },
		abi.NodeFeed:             func(s *scene) { s.feed.Value = 2 },
		abi.NodeFeedState:        func(s *scene) { s.feed.State = 2 },
		abi.NodeRequestedSince:   func(s *scene) { s.feed.Since = 6 },
		abi.NodeObjectNumbers: func(s *scene) {
			s.feed.Columns = &state.Columns{Numbers: [][]int64{{1, 3}, nil}, Texts: [][]*string{nil, {nil, &text}}}
		},
		abi.NodeObjectTexts: func(s *scene) {
			s.feed.Columns = &state.Columns{Numbers: [][]int64{{1, 2}, nil}, Texts: [][]*string{nil, {&text, nil}}}
		},
		abi.NodeDeclaredFeatures: func(s *scene) { s.node.Status.DeclaredFeatures = []string{"UserNamespacesHostNetworkSupport"} },

		abi.PodNamespace:   func(s *scene) { s.placed.Namespace = "b" },
		abi.PodPriority:    func(s *scene) { *s.placed.Spec.Priority = 2 },
		abi.PodRequests:    func(s *scene) { cpu(s.placed) },
		abi.PodLabels:      func(s *scene) { s.placed.Labels["other"] = "y" },
		abi.PodAnnotations: func(s *scene) { s.placed.Annotations["k"] = "y" },
		abi.PodOwner:       func(s *scene) { s.placed.OwnerReferences[0].Name = "y" },
		abi.PodLabel:       func(s *scene) { s.placed.Labels["k"] = "y" },
		abi.PodFlags:       func(s *scene) { s.placed.DeletionTimestamp = &now },
		abi.PodUID:         func(s *scene) { s.placed.UID = "y" },
		abi.PlacedPodName:  func(s *scene) { s.placed.Name = "y" },
		abi.PlacedPodLimits: func(s *scene) {
			s.placed.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
		},
		abi.PlacedPodQOS:        func(s *scene) { s.placed.Status.QOSClass = v1.PodQOSGuaranteed },
		abi.PlacedPodAssignedAt: func(s *scene) { s.placed.Status.Conditions = assigned(7) },
		abi.PlacedPodCreatedAt:  func(s *scene) { s.placed.CreationTimestamp = metav1.Unix(1, 0) },
		abi.PlacedPodState:      func(s *scene) { s.placed.Status.Phase = v1.PodRunning },

		abi.PodNodeName:              func(s *scene) { s.pod.Spec.NodeName = "y" },
		abi.PodNodeSelector:          func(s *scene) { s.pod.Spec.NodeSelector = map[string]string{"k": "y"} },
		abi.PodTolerations:           func(s *scene) { s.pod.Spec.Tolerations = []v1.Toleration{{Key: "k", TolerationSeconds: &seconds}} },
		abi.PodHostPorts:             func(s *scene) { s.pod.Spec.Containers[0].Ports[0].HostPort = 2 },
		abi.PodImages:                func(s *scene) { s.pod.Spec.Containers[0].Image = "y" },
		abi.PodSchedulingGates:       func(s *scene) { s.pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "y"}} },
		abi.IncomingNamespace:        func(s *scene) { s.pod.Namespace = "b" },
		abi.IncomingPriority:         func(s *scene) { *s.pod.Spec.Priority = 2 },
		abi.IncomingRequests:         func(s *scene) { cpu(s.pod) },
		abi.IncomingLabels:           func(s *scene) { s.pod.Labels["k"] = "y" },
		abi.IncomingAnnotations:      func(s *scene) { s.pod.Annotations["k"] = "y" },
		abi.IncomingOwner:            func(s *scene) { s.pod.OwnerReferences[0].Name = "y" },
		abi.PodRequiredTerms:         required,
		abi.PodPreferredTerms:        preferred,
		abi.PodRequirements:          required,
		abi.PodRequirementIDs:        preferred,
		abi.IncomingNonZero:          func(s *scene) { cpu(s.pod) },
		abi.IncomingNamespaceLabels:  func(s *scene) { s.namespace["k"] = "y" },
		abi.IncomingCreatedAt:        func(s *scene) { s.pod.CreationTimestamp = metav1.Unix(1, 0) },
		abi.IncomingPriorityClass:    func(s *scene) { s.pod.Spec.PriorityClassName = "y" },
		abi.IncomingServiceAccount:   func(s *scene) { s.pod.Spec.ServiceAccountName = "y" },
		abi.IncomingPreemptionPolicy: func(s *scene) { s.pod.Spec.PreemptionPolicy = &never },
		abi.IncomingGroup:            func(s *scene) { s.pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group} },
		abi.IncomingLimits: func(s *scene) {
			s.pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
		},
		abi.IncomingContainers: func(s *scene) { s.pod.Spec.Containers[0].Name = "y" },
		abi.IncomingContainerAmounts: func(s *scene) {
			s.pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/y": resource.MustParse("0")}
		},
		abi.IncomingNow: func(s *scene) { s.now = 60 },
		abi.IncomingQOS: func(s *scene) { s.pod.Status.QOSClass = v1.PodQOSGuaranteed },
		abi.IncomingClaims: func(s *scene) {
			claim := &v1.PersistentVolumeClaimVolumeSource{ClaimName: "y"}
			s.pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: claim}}}
		},
		abi.PodDeclaredFeatures: func(s *scene) { s.pod.Spec.HostNetwork, s.pod.Spec.HostUsers = true, &shared },
	}
}

// TestEntries: an answer that depends on one entry of package fields is not that of a cluster where only this entry differs, whether
// it is of the node, its pods, or the pod to be placed. Or the entry says that no such answer is kept, or that it has no source.
func TestEntries(t *testing.T) {
	differ := changes()
	for _, e := range fields.All() {
		read := plugin.Read{Column: e.ID}
		if e.Arg == fields.ArgKey || e.Arg == fields.ArgType {
			read.Args = []string{"k"}
		}
		p := &byLabel{plugin.Info{Name: "P", NodeScoped: []abi.Point{abi.Score}, Reads: []plugin.Read{read}}}
		if e.ID == abi.NodeRequestedSince {
			read.Args = []string{"cpu", "", "k:milli"}
		}
		if e.ID == abi.NodePods || e.ID == abi.NodeNominated {
			p.info.Reads[0].Args = []string{} // with nil it is anything of the pods, and moves with their generation
		}
		if e.Table == abi.TablePods {
			p.info.Reads = append(p.info.Reads, plugin.Read{Column: abi.NodePods, Args: []string{}})
		}
		if e.Reserved || e.Source == 0 {
			continue
		}
		cache := equivalence.New(equivalence.Config{Bytes: 1 << 20}).PluginCache(p)
		if (cache == nil) != (e.NotKept != "") {
			t.Errorf("%s (%d): answers are kept: %t, the entry says %q", e.Go, e.ID, cache != nil, e.NotKept)
			continue
		}
		change := differ[e.ID]
		switch {
		case cache == nil && change == nil:
			continue
		case cache == nil || change == nil:
			t.Errorf("%s (%d) needs a change of what it shows in this test, or says why no answer is kept, but not both", e.Go, e.ID)
			continue
		}
		w := &watched{cache: cache, snapshot: state.NewSnapshot()}
		w.show(newScene())
		changed := newScene()
		change(changed)
		if !w.show(newScene()) {
			t.Errorf("%s (%d): the answer is not kept while nothing has changed", e.Go, e.ID)
		}
		if w.show(changed) {
			t.Errorf("%s (%d): the answer is kept although what it depends on has changed", e.Go, e.ID)
		}
	}
}

// watched is the snapshot of a scene, and answers about it.
type watched struct {
	cache            *equivalence.PluginCache
	snapshot         *state.Snapshot
	last             *scene
	generation       uint64
	node, pods, feed uint64 // the generations of what is shown
}

// show shows a scene, and reports whether an answer was kept for it. Afterwards there is one. As in the cache, the generations of
// sources that have not changed stand still.
func (w *watched) show(s *scene) bool {
	w.generation++
	if w.last == nil || !reflect.DeepEqual(s.node, w.last.node) {
		w.node = w.generation
	}
	if w.last == nil || !reflect.DeepEqual(s.placed, w.last.placed) || !reflect.DeepEqual(s.nominated, w.last.nominated) {
		w.pods = w.generation
	}
	if w.last == nil || !reflect.DeepEqual(s.feed, w.last.feed) {
		w.feed = w.generation
	}
	w.last = s
	row := &state.NodeInfo{
		Name: s.node.Name, Node: state.NewNode(s.node), ObjectGeneration: w.node, Feeds: []string{"k"}, Cells: []state.Cell{s.feed}, FeedsGeneration: w.feed,
	}
	if s.placed != nil {
		row.AddPod(state.PlacedPod{Pod: state.NewPod(s.placed), Generation: w.pods})
	}
	if s.nominated != nil {
		row.Nominated = []state.PlacedPod{{Pod: state.NewPod(s.nominated), Slot: 1, Generation: w.pods}}
	}
	row.PodsGeneration = w.pods
	w.snapshot.Update([]*state.NodeInfo{row}, []uint32{0}, nil)
	namespace := &state.Namespace{Name: s.pod.Namespace, Labels: s.namespace}
	c := &plugin.Cycle{Snapshot: w.snapshot, Pod: state.NewPod(s.pod), Now: s.now}
	a := w.cache.Lookup(c, namespace)
	if a == nil { // of the first such pod nothing is kept
		a = w.cache.Lookup(c, namespace)
	}
	a.Scores()
	score, _ := a.Score(0)
	a.KeepScore(0, 5)
	return score != 0
}
