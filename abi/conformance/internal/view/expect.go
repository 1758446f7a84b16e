package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// Expect returns what a plugin must see of a cluster in a cycle instance (ABI-4).
func Expect(r *Reads, c *cluster.Cluster) *Snapshot {
	out := &Snapshot{HasNamespaces: r.NamespacesTable()}
	for i := range c.Nodes {
		out.Nodes = append(out.Nodes, ExpectNode(r, c, &c.Nodes[i]))
	}
	if out.HasNamespaces {
		for i := range c.Namespaces {
			if n := &c.Namespaces[i]; r.Sees(n.Metadata.Name) {
				out.Namespaces = append(out.Namespaces, expectNamespace(r, n))
			}
		}
	}
	return out
}

// ExpectNode returns the cells of one node (ABI-4, table 1). The cells of its pods are in the
// cell of column 12.
func ExpectNode(r *Reads, c *cluster.Cluster, n *cluster.Node) Cells {
	out := Cells{}
	name := n.Metadata.Name
	out.when(r.HasNode("name"), abi.NodeName, 0, func() string { return quote(name) })
	out.when(r.HasNode("flags"), abi.NodeFlags, 0, func() string { return bit(n.Spec.Unschedulable) })
	for k, resource := range r.Resources {
		out.when(r.HasNode("allocatable"), abi.NodeAllocatable, k, func() string { return number(n.Allocatable(resource)) })
		out.when(r.HasNode("requested"), abi.NodeRequested, k, func() string { return number(c.Requested(name, resource)) })
	}
	if r.HasNode("nonZeroRequested") {
		var cpu, memory int64
		for _, p := range c.PodsOn(name) {
			podCPU, podMemory := p.NonZeroRequests()
			cpu, memory = cpu+podCPU, memory+podMemory
		}
		out[Key(abi.NodeNonZeroRequested, 0)], out[Key(abi.NodeNonZeroRequested, 1)] = number(cpu), number(memory)
	}
	out.when(r.HasNode("labels"), abi.NodeLabels, 0, func() string { return pairs(n.Metadata.Labels) })
	out.keyed(abi.NodeAnnotations, r.NodeAnnotations, n.Metadata.Annotations)
	out.when(r.HasNode("taints"), abi.NodeTaints, 0, func() string {
		var all []string
		for _, t := range n.Spec.Taints {
			all = append(all, fmt.Sprintf("%q=%q:%s", t.Key, t.Value, t.Effect))
		}
		return list(all)
	})
	out.when(r.HasNode("ports"), abi.NodePorts, 0, func() string {
		var all []string
		for _, p := range c.PodsOn(name) {
			all = append(all, hostPorts(p)...)
		}
		return list(all)
	})
	out.when(r.HasNode("images"), abi.NodeImages, 0, func() string {
		var all []string
		for _, image := range n.Status.Images {
			for _, name := range image.Names {
				all = append(all, fmt.Sprintf("%q:%d", name, image.Size))
			}
		}
		return list(all)
	})
	for k, typ := range r.NodeConditions {
		out[Key(abi.NodeConditions, k)] = number(condition(n, typ))
	}
	out.when(r.HasNode("pods"), abi.NodePods, 0, func() string {
		var all []string
		for _, p := range c.PodsOn(name) {
			if r.Sees(p.Metadata.Namespace) {
				all = append(all, ExpectPlaced(r, p).text())
			}
		}
		return list(all)
	})
	out.when(r.HasNode("generation"), abi.NodeGenerations, 0, func() string { return free })
	out.keyed(abi.NodeLabel, r.NodeLabels, n.Metadata.Labels)
	out.when(r.HasNode("zone"), abi.NodeZone, 0, func() string {
		for _, key := range []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"} {
			if zone, ok := n.Metadata.Labels[key]; ok {
				return quote(zone)
			}
		}
		return absent
	})
	return out
}

// ExpectPlaced returns the cells of a pod on a node (ABI-4, table 2).
func ExpectPlaced(r *Reads, p *cluster.Pod) Cells {
	out := Cells{}
	out.when(r.HasPods("namespace"), abi.PodNamespace, 0, func() string { return quote(p.Metadata.Namespace) })
	out.when(r.HasPods("priority"), abi.PodPriority, 0, func() string { return number(priority(p)) })
	if r.HasPods("requests") {
		for k, resource := range r.Resources {
			out[Key(abi.PodRequests, k)] = number(p.Requests(resource))
		}
	}
	out.when(r.HasPods("labels"), abi.PodLabels, 0, func() string { return pairs(p.Metadata.Labels) })
	out.keyed(abi.PodAnnotations, r.PodAnnotations, p.Metadata.Annotations)
	out.when(r.HasPods("owner"), abi.PodOwner, 0, func() string { return Owner(p) })
	out.keyed(abi.PodLabel, r.PodLabels, p.Metadata.Labels)
	out.when(r.HasPods("flags"), abi.PodFlags, 0, func() string { return bit(p.Metadata.Deletion != "") })
	out.when(r.HasPods("uid"), abi.PodUID, 0, func() string { return quote(p.Metadata.UID) })
	out.when(r.HasPods("name"), abi.PlacedPodName, 0, func() string { return quote(p.Metadata.Name) })
	return out
}

func expectNamespace(r *Reads, n *cluster.Namespace) Cells {
	out := Cells{}
	out[Key(abi.NamespaceName, 0)] = quote(n.Metadata.Name) // declared or not (ABI-4.14)
	out.when(r.HasNamespace("labels"), abi.NamespaceLabels, 0, func() string { return pairs(n.Metadata.Labels) })
	out.keyed(abi.NamespaceLabel, r.NamespaceLabels, n.Metadata.Labels)
	return out
}

// when sets a cell if it is declared.
func (c Cells) when(declared bool, id abi.ColumnID, arg int, value func() string) {
	if declared {
		c[Key(id, arg)] = value()
	}
}

// keyed sets the cells of declared keys.
func (c Cells) keyed(id abi.ColumnID, keys []string, from map[string]string) {
	for k, key := range keys {
		c[Key(id, k)] = value(from, key)
	}
}

func value(from map[string]string, key string) string {
	if v, ok := from[key]; ok {
		return quote(v)
	}
	return absent
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func pairs(labels map[string]string) string {
	var all []string
	for k, v := range labels {
		all = append(all, quote(k)+"="+quote(v))
	}
	return list(all)
}

// condition returns the value of column 11.
func condition(n *cluster.Node, typ string) int64 {
	for _, c := range n.Status.Conditions {
		if c.Type == typ {
			return int64(slices.Index([]string{"True", "False", "Unknown"}, c.Status)) + 1
		}
	}
	return 0
}

func priority(p *cluster.Pod) int64 {
	if p.Spec.Priority == nil {
		return 0
	}
	return int64(*p.Spec.Priority)
}

// Owner returns the controlling owner of a pod as a cell.
func Owner(p *cluster.Pod) string {
	for _, o := range p.Metadata.Owners {
		if o.Controller {
			return quote(o.Kind + "/" + o.Name)
		}
	}
	return absent
}

// hostPorts returns the host ports of a pod: "ip":port/protocol.
func hostPorts(p *cluster.Pod) []string {
	var out []string
	for i := range p.Spec.Containers {
		for _, port := range p.Spec.Containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			ip, protocol := port.HostIP, port.Protocol
			if ip == "" {
				ip = "0.0.0.0"
			}
			if protocol == "" {
				protocol = "TCP"
			}
			out = append(out, fmt.Sprintf("%q:%d/%s", ip, port.HostPort, protocol))
		}
	}
	return out
}

// ImageName returns the name of a container's image as kube-scheduler compares it: with the tag
// latest if it has none.
func ImageName(image string) string {
	if strings.LastIndex(image, ":") <= strings.LastIndex(image, "/") {
		return image + ":latest"
	}
	return image
}
