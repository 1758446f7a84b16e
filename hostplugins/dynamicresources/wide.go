package dynamicresources

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"
)

// Wide pools are those that are not one node's: nodes differ in which of their slices and devices they can use, and
// in where the pools come in the order of the node's own.

// mostReaches is from how many parts of wide pools on each node is one of its own.
const mostReaches = 1 << 10

// reaches is where a slice, or one of its devices, can be used.
type reaches struct {
	all      bool
	node     string
	selector *nodeaffinity.NodeSelector
}

func (p poolID) compare(q poolID) int {
	return cmp.Or(strings.Compare(p.driver, q.driver), strings.Compare(p.name, q.name))
}

func idOf(s *resourcev1.ResourceSlice) poolID { return poolID{s.Spec.Driver, s.Spec.Pool.Name} }

// widen takes in the slices of wide pools.
func (c *contents) widen() {
	c.order, c.reaches, c.blurred = nil, nil, false
	for _, s := range c.wide {
		c.order = append(c.order, idOf(s))
		if !ptr.Deref(s.Spec.PerDeviceNodeSelection, false) {
			c.reach(s.Spec.NodeName, s.Spec.AllNodes, s.Spec.NodeSelector)
			continue
		}
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			c.reach(d.NodeName, d.AllNodes, d.NodeSelector)
		}
	}
	slices.SortFunc(c.order, poolID.compare)
	c.order = slices.Compact(c.order)
	c.blurred = c.blurred || len(c.reaches) > mostReaches
}

func (c *contents) reach(node *string, all *bool, selector *v1.NodeSelector) {
	r := reaches{all: ptr.Deref(all, false), node: ptr.Deref(node, "")}
	if selector != nil {
		var err error
		r.selector, err = nodeaffinity.NewNodeSelector(selector)
		c.blurred = c.blurred || err != nil
	}
	c.reaches = append(c.reaches, r)
}

// seen appends what a node sees of wide pools. It reports false if that is only the node's own.
func (c *contents) seen(b []byte, n *devicesOf, node *v1.Node) ([]byte, bool) {
	if len(c.wide) == 0 || c.blurred {
		return b, !c.blurred
	}
	if n.node != node {
		n.node, n.sees = node, n.sees[:0]
		for i := range c.reaches {
			r := &c.reaches[i]
			n.sees = append(n.sees, bit(r.all || r.node == node.Name || r.selector != nil && r.selector.Match(node)))
		}
		for _, s := range n.slices {
			at, _ := slices.BinarySearchFunc(c.order, idOf(s), poolID.compare)
			n.sees = binary.AppendUvarint(n.sees, uint64(at))
		}
	}
	b = append(b, n.sees...)
	return binary.LittleEndian.AppendUint64(b, c.changes), true
}
