package hostplugins_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// scenario is the first section of a scenario file.
type scenario struct {
	// Plugins are run alone, in kube-scheduler's order.
	Plugins []string `json:"plugins"`
	profile
}

// nodeText is the short form of a node: 4 cpu, 8Gi and 10 pods by default.
type nodeText struct {
	Name        string              `json:"name"`
	Labels      map[string]string   `json:"labels"`
	Allocatable v1.ResourceList     `json:"allocatable"`
	Taints      []v1.Taint          `json:"taints"`
	Cordoned    bool                `json:"cordoned"`
	Images      []v1.ContainerImage `json:"images"`
	Declared    []string            `json:"declared"`
}

func (n *nodeText) object() *v1.Node {
	if n.Allocatable == nil {
		if err := yaml.Unmarshal([]byte(`{cpu: 4, memory: 8Gi, pods: 10}`), &n.Allocatable); err != nil {
			panic(err)
		}
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
		Spec:       v1.NodeSpec{Taints: n.Taints, Unschedulable: n.Cordoned},
		Status:     v1.NodeStatus{Allocatable: n.Allocatable, Images: n.Images, DeclaredFeatures: n.Declared},
	}
}

// podText is the short form of a pod: one container, and Spec for the rest. Node places it.
type podText struct {
	Namespace string             `json:"namespace"` // default: ns
	Name      string             `json:"name"`
	UID       string             `json:"uid"`
	Labels    map[string]string  `json:"labels"`
	Owner     string             `json:"owner"` // KIND/NAME of its controller
	Deleting  bool               `json:"deleting"`
	Node      string             `json:"node"`
	Nominated string             `json:"nominated"`
	Deferred  bool               `json:"deferred"` // its resize in place
	Requests  v1.ResourceList    `json:"requests"`
	Ports     []v1.ContainerPort `json:"ports"`
	Image     string             `json:"image"`
	Tolerate  []v1.Toleration    `json:"tolerate"`
	Required  []v1.NodeSelectorTerm
	Preferred []v1.PreferredSchedulingTerm
	Spec      v1.PodSpec `json:"spec"`
}

func (p *podText) object() *v1.Pod {
	if p.UID == "" {
		p.UID = p.Name
	}
	o := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(p.Namespace, "ns"), Name: p.Name, UID: types.UID(p.UID), Labels: p.Labels}, Spec: p.Spec}
	o.OwnerReferences = owner(p.Owner)
	if p.Deleting {
		o.DeletionTimestamp = &metav1.Time{}
	}
	o.Status.NominatedNodeName = p.Nominated
	if p.Deferred {
		o.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
	}
	if p.Node != "" {
		o.Spec.NodeName = p.Node
	}
	if o.Spec.Containers == nil {
		c := v1.Container{Name: "main", Image: p.Image, Ports: p.Ports}
		c.Resources.Requests = p.Requests
		o.Spec.Containers = []v1.Container{c}
	}
	o.Spec.Tolerations = append(o.Spec.Tolerations, p.Tolerate...)
	if p.Required != nil || p.Preferred != nil {
		a := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: p.Preferred}
		if p.Required != nil {
			a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: p.Required}
		}
		o.Spec.Affinity = &v1.Affinity{NodeAffinity: a}
	}
	return o
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

// TestScenarios prints the answer of each plugin for each node.
func TestScenarios(t *testing.T) {
	eachScenario(t, "testdata/scenarios/*.txt", func(t *testing.T, section func(string) []byte) string {
		var s scenario
		decode(t, section("plugins"), &s)
		s.withDefaults()
		decode(t, section("world"), &s.world)
		var nodeTexts []nodeText
		decode(t, section("nodes"), &nodeTexts)
		var podTexts []podText
		decode(t, section("pods"), &podTexts)
		var nodes []*v1.Node
		for i := range nodeTexts {
			nodes = append(nodes, nodeTexts[i].object())
		}
		var placed, pending []*v1.Pod
		for i := range podTexts {
			if p := podTexts[i].object(); podTexts[i].Node != "" {
				placed = append(placed, p)
			} else {
				pending = append(pending, p)
			}
		}
		columns := s.columns(t)
		only(columns, s.Plugins...)
		snapshot := plugintest.Snapshot(nodes, placed, s.world.Namespaces...)

		var out strings.Builder
		for _, pod := range pending {
			a := plugintest.Result{KeepRaw: true}
			columns.Run(snapshot, state.NewPod(pod), &a)
			table(&out, pod.Name, nodes, columns, &a)
		}
		return out.String()
	})
}

// table writes the verdicts and scores of one pod.
func table(out *strings.Builder, pod string, nodes []*v1.Node, chain *plugintest.Columns, r *plugintest.Result) {
	fmt.Fprintf(out, "pod %s\n", pod)
	for i, skipped := range r.Skipped {
		if skipped {
			fmt.Fprintf(out, "  %s skips Filter\n", chain.Filters[i].Info().Name)
		}
	}
	for i := range r.Scores {
		if code := r.Scores[i].Code; code != abi.Success {
			fmt.Fprintf(out, "  %s answers %v to PreScore\n", chain.Scores[i].Plugin.Info().Name, code)
		}
	}
	for row, node := range nodes {
		fmt.Fprintf(out, "  %-8s %v", node.Name, r.Code[row])
		if r.Code[row] != abi.Success {
			fmt.Fprintf(out, " %s %q", chain.Filters[r.By[row]].Info().Name, r.Reasons[row])
		}
		if at := slices.Index(r.Feasible, uint32(row)); at >= 0 {
			for i := range r.Scores {
				if s := &r.Scores[i]; len(s.Raw) > 0 {
					fmt.Fprintf(out, "  %s %d → %d", chain.Scores[i].Plugin.Info().Name, s.Raw[at], s.Normal[at])
				}
			}
		}
		fmt.Fprintln(out)
	}
}

// eventText is an event and the pod that it may affect.
type eventText struct {
	About   string    `json:"about"` // what the case shows
	Plugin  string    `json:"plugin"`
	Pod     podText   `json:"pod"`
	OldPod  *podText  `json:"oldPod"`
	NewPod  *podText  `json:"newPod"`
	OldNode *nodeText `json:"oldNode"`
	NewNode *nodeText `json:"newNode"`
}

// TestHints prints, for each event, whether the plugin registered it and what its hint returns.
func TestHints(t *testing.T) {
	eachScenario(t, "testdata/hints/*.txt", func(t *testing.T, section func(string) []byte) string {
		var p profile
		decode(t, section("profile"), &p)
		p.withDefaults()
		decode(t, section("world"), &p.world)
		var events []eventText
		decode(t, section("events"), &events)
		var out strings.Builder
		for i := range events {
			e := &events[i]
			fmt.Fprintf(&out, "%s: %s: %s\n", e.Plugin, e.About, e.answer(p.plugin(t, e.Plugin)))
		}
		return out.String()
	})
}

func (e *eventText) answer(p plugin.Plugin) string {
	var o state.Object
	if e.OldPod != nil {
		o.OldPod = state.NewPod(e.OldPod.object())
	}
	if e.NewPod != nil {
		o.NewPod = state.NewPod(e.NewPod.object())
	}
	if e.OldNode != nil {
		o.OldNode = state.NewNode(e.OldNode.object())
	}
	if e.NewNode != nil {
		o.NewNode = state.NewNode(e.NewNode.object())
	}
	var said []string
	for _, incoming := range amounting(o) {
		for _, registered := range p.Info().Events {
			if !registered.Matches(incoming) {
				continue
			}
			if registered.Hint == nil {
				said = append(said, "Queue (no hint)")
				continue
			}
			hint, err := registered.Hint(state.NewPod(e.Pod.object()), o)
			text := "Skip"
			if hint == state.Queue {
				text = "Queue"
			}
			if err != nil {
				text += " (" + err.Error() + ")"
			}
			said = append(said, text)
		}
	}
	if said == nil {
		return "not registered"
	}
	return strings.Join(said, ", ")
}

// amounting returns the cluster events that a change amounts to.
func amounting(o state.Object) []state.ClusterEvent {
	switch {
	case o.OldNode != nil && o.NewNode != nil:
		return o.NewNode.Changes(o.OldNode)
	case o.NewNode != nil:
		return []state.ClusterEvent{{Resource: state.NodeResource, Action: state.Add}}
	case o.OldNode != nil:
		return []state.ClusterEvent{{Resource: state.NodeResource, Action: state.Delete}}
	case o.OldPod != nil && o.NewPod != nil && o.NewPod.NodeName() == "":
		return o.NewPod.Changes(o.OldPod, state.TargetPodResource)
	case o.OldPod != nil && o.NewPod != nil:
		return o.NewPod.Changes(o.OldPod, state.AssignedPodResource)
	case o.OldPod != nil:
		return []state.ClusterEvent{{Resource: state.AssignedPodResource, Action: state.Delete}}
	}
	return []state.ClusterEvent{{Resource: state.AssignedPodResource, Action: state.Add}}
}
