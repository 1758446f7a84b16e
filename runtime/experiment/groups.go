package experiment

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Groups count pods by what they have in common, the most moves first.
type Groups struct {
	// Controllers are named NAMESPACE/KIND NAME. Those of a Deployment's revisions are one.
	Controllers []Group `json:"controllers"`
	Namespaces  []Group `json:"namespaces"`
	// Pools are named FROM → TO. They are empty if no node says its pool.
	Pools   []Group `json:"pools"`
	Reasons []Group `json:"reasons"`
}

// Group is a set of moves.
type Group struct {
	Name string `json:"name"`
	// Pods is how many pods of the group there were to be placed, moved or not; 0 if that is not known.
	Pods    int            `json:"pods,omitempty"`
	Moves   int            `json:"moves"`
	Changes map[Change]int `json:"changes"`
}

// groups counts moves.
func (d *day) groups(moves []Move) Groups {
	byController, byNamespace := make(map[string]int), make(map[string]int)
	for _, p := range d.pods {
		byNamespace[p.last.Namespace]++
		byController[controllerGroup(p.last.Namespace, controllerOf(p.last))]++
	}
	return Groups{
		Controllers: grouped(moves, byController, func(m *Move) string { return controllerGroup(m.Namespace, m.Controller) }),
		Namespaces:  grouped(moves, byNamespace, func(m *Move) string { return m.Namespace }),
		Pools:       grouped(moves, nil, d.poolsOf),
		Reasons:     grouped(moves, nil, func(m *Move) string { return m.Reason }),
	}
}

func grouped(moves []Move, pods map[string]int, nameOf func(m *Move) string) []Group {
	out, index := []Group{}, make(map[string]int)
	for i := range moves {
		name := nameOf(&moves[i])
		if name == "" {
			continue
		}
		at, ok := index[name]
		if !ok {
			at = len(out)
			index[name] = at
			out = append(out, Group{Name: name, Pods: pods[name], Changes: make(map[Change]int)})
		}
		out[at].Moves++
		out[at].Changes[moves[i].Change]++
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Moves, a.Moves), strings.Compare(a.Name, b.Name)) })
	return out
}

// poolsOf names the pools that a pod left and went to; empty if no node has one.
func (d *day) poolsOf(m *Move) string {
	where := func(node string) string {
		if node == "" {
			return "none"
		}
		return cmp.Or(d.pools[node], "no pool")
	}
	before, after := m.Before.Node, m.After.Node
	if d.pools[before] == "" && d.pools[after] == "" {
		return ""
	}
	switch m.Change {
	case Preempted:
		after = ""
	case Spared:
		before = ""
	}
	return where(before) + " → " + where(after)
}

// poolOf returns the node pool that a node is part of, by the label of a provider or an autoscaler, or else the type of the
// machine; empty if no label says so.
func poolOf(node *v1.Node) string {
	for _, label := range []string{
		"karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
		"kubernetes.azure.com/agentpool", "agentpool", "node.kubernetes.io/pool", "pool", v1.LabelInstanceTypeStable,
	} {
		if pool := node.Labels[label]; pool != "" {
			return pool
		}
	}
	return ""
}

// controllerOf returns the kind and the name of a pod's controller; empty if it has none. A ReplicaSet that is a revision of a
// Deployment stands for that.
func controllerOf(pod *v1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return ""
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && owner.Kind == "ReplicaSet" {
		if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
			return "Deployment " + name
		}
	}
	return owner.Kind + " " + owner.Name
}

func controllerGroup(namespace, controller string) string {
	return namespace + "/" + cmp.Or(controller, "(no controller)")
}

// reasonOf says what a change is due to: for a pod that something kept from a node only before, what that was.
func reasonOf(c Change, was, now *fate) string {
	if c == Placed || c == Spared {
		return was.reason
	}
	return now.reason
}
