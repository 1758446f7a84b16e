package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// cluster returns a cluster by name, or an inline one; the default is "three".
func (lib *library) cluster(doc json.RawMessage) (*cluster.Cluster, error) {
	if doc == nil {
		doc = json.RawMessage(`"three"`)
	}
	var name string
	c := &cluster.Cluster{}
	var many struct{ Copies int }
	if strictly(doc, &many) == nil {
		*c = copies(many.Copies)
	} else if json.Unmarshal(doc, &name) == nil {
		known, ok := lib.objects.Clusters[name]
		if !ok {
			return nil, fmt.Errorf("conformance: there is no cluster %q in objects.json", name)
		}
		*c = known
	} else if err := strictly(doc, c); err != nil {
		return nil, err
	}
	return c, c.Check()
}

// copies returns a cluster of n nodes n0000, n0001, …: the odd ones with the code
// Unschedulable, each with a different reason.
func copies(n int) (c cluster.Cluster) {
	for i := range n {
		node := cluster.Node{Metadata: cluster.Metadata{Name: fmt.Sprintf("n%04d", i)}}
		node.Status.Allocatable = amounts(i)
		c.Nodes = append(c.Nodes, node)
	}
	return c
}

func amounts(i int) map[string]cluster.Quantity {
	return map[string]cluster.Quantity{
		"example.com/code": cluster.Quantity(fmt.Sprint(i % 2 * 2)), "example.com/reason": cluster.Quantity(fmt.Sprint(i + 1)),
		"example.com/score": cluster.Quantity(fmt.Sprint(i % 101)),
	}
}

// podCopies returns pods p0000, p0001, … likewise.
func podCopies(n int) (out []cluster.Pod) {
	for i := range n {
		p := cluster.Pod{Metadata: cluster.Metadata{Namespace: "default", Name: fmt.Sprintf("p%04d", i), UID: fmt.Sprintf("uid-p%04d", i)}}
		p.Spec.Containers = []cluster.Container{{Name: "main", Resources: cluster.Resources{Requests: amounts(i)}}}
		out = append(out, p)
	}
	return out
}

// pod returns a pod by name, or an inline one.
func (lib *library) pod(doc json.RawMessage, name string) (*cluster.Pod, error) {
	p := &cluster.Pod{}
	if doc == nil || json.Unmarshal(doc, &name) == nil {
		known, ok := lib.objects.Pods[name]
		if !ok {
			return nil, fmt.Errorf("conformance: there is no pod %q in objects.json", name)
		}
		*p = known
	} else if err := strictly(doc, p); err != nil {
		return nil, err
	}
	return p, p.Check()
}
