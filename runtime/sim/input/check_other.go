package input

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

func (c *checker) nodeObject(n *v1.Node) {
	c.quantities("status.capacity", n.Status.Capacity)
	if len(c.errs) == 0 { // allocatable may be a copy of capacity
		c.quantities("status.allocatable", n.Status.Allocatable)
	}
	type taint struct {
		key    string
		effect v1.TaintEffect
	}
	seen := map[taint]int{}
	for i, t := range n.Spec.Taints {
		at := fmt.Sprintf("spec.taints[%d]", i)
		c.key(at+".key", t.Key)
		c.labelValue(at+".value", t.Value)
		c.effect(at+".effect", t.Effect)
		if j, ok := seen[taint{t.Key, t.Effect}]; ok {
			c.bad(at, fmt.Sprintf("spec.taints[%d] has the same key and effect", j), "remove one of them")
		}
		seen[taint{t.Key, t.Effect}] = i
	}
}

// Built-in priority classes, and the highest value of any other
// (pkg/apis/scheduling/types.go of k8s.io/kubernetes).
const (
	systemPrefix      = "system-"
	nodeCritical      = "system-node-critical"
	clusterCritical   = "system-cluster-critical"
	nodeCriticalValue = 2000001000
	clusterValue      = 2000000000
	highestUserValue  = 1000000000
)

// builtin returns the value of a built-in class.
func builtin(name string) (value int32, ok bool) {
	switch name {
	case nodeCritical:
		return nodeCriticalValue, true
	case clusterCritical:
		return clusterValue, true
	}
	return 0, false
}

func (c *checker) priorityClass(p *schedulingv1.PriorityClass) {
	c.oneOf("preemptionPolicy", string(*p.PreemptionPolicy), "PreemptLowerPriority", "Never")
	if value, ok := builtin(p.Name); ok {
		if p.Value != value {
			c.bad("value", fmt.Sprintf("%d is not the value of the built-in class, %d", p.Value, value), "remove the class; it is always there")
		}
		return
	}
	if len(p.Name) >= len(systemPrefix) && p.Name[:len(systemPrefix)] == systemPrefix {
		c.bad("metadata.name", "names that begin with system- are reserved for built-in classes", "rename it")
	}
	if p.Value > highestUserValue {
		c.bad("value", fmt.Sprintf("%d is above %d", p.Value, highestUserValue), "write a smaller value; larger ones are reserved for system classes")
	}
}
