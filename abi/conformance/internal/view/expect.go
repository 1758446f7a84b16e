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
				out.Namespaces = append(out.Namespaces, expectNamespace(r, c, n))
			}
		}
	}
	return out
}

// ExpectNode returns the cells of one node (ABI-4, table 1). The cells of its pods are in the
// cell of column 12.
func ExpectNode(r *Reads, c *cluster.Cluster, n *cluster.Node) Cells {
	out := Cells{}
	r.each(abi.TableNodes, func(id abi.ColumnID, arg int) { out[Key(id, arg)] = nodeCell(r, c, n, id, arg) })
	return out
}

func nodeCell(r *Reads, c *cluster.Cluster, n *cluster.Node, id abi.ColumnID, arg int) string {
	name := n.Metadata.Name
	var all []string
	switch id {
	case abi.NodeName:
		return quote(name)
	case abi.NodeFlags:
		return bit(n.Spec.Unschedulable)
	case abi.NodeAllocatable:
		return number(n.Allocatable(r.Resources[arg]))
	case abi.NodeCapacity:
		return number(n.Capacity(r.Resources[arg]))
	case abi.NodeCreatedAt:
		return number(n.Metadata.CreatedAt())
	case abi.NodeFeed:
		return number(n.Feeds[r.Feeds[arg]].Value)
	case abi.NodeFeedState:
		return number(int64(n.Feeds[r.Feeds[arg]].State))
	case abi.NodeObjectNumbers:
		return objectNumbers(n.Objects[r.ObjectColumns[arg]].Numbers)
	case abi.NodeObjectTexts:
		return objectTexts(n.Objects[r.ObjectColumns[arg]].Texts)
	case abi.NodeRequestedSince:
		return number(c.RequestedSince(n, r.Feeds, r.Resources[arg]))
	case abi.NodeRequested:
		return number(c.Requested(name, r.Resources[arg]))
	case abi.NodeNonZeroRequested:
		var amounts [2]int64
		for _, p := range c.PodsOn(name) {
			cpu, memory := p.NonZeroRequests()
			amounts[0], amounts[1] = amounts[0]+cpu, amounts[1]+memory
		}
		return number(amounts[arg])
	case abi.NodeLabels:
		return pairs(n.Metadata.Labels)
	case abi.NodeAnnotations:
		return value(n.Metadata.Annotations, r.NodeAnnotations[arg])
	case abi.NodeTaints:
		for _, t := range n.Spec.Taints {
			all = append(all, fmt.Sprintf("%q=%q:%s", t.Key, t.Value, t.Effect))
		}
	case abi.NodePorts:
		for _, p := range c.PodsOn(name) {
			all = append(all, hostPorts(p)...)
		}
	case abi.NodeImages:
		for _, image := range n.Status.Images {
			for _, name := range image.Names {
				all = append(all, fmt.Sprintf("%q:%d", name, image.Size))
			}
		}
	case abi.NodeConditions:
		return number(condition(n, r.NodeConditions[arg]))
	case abi.NodePods:
		for _, p := range c.PodsOn(name) {
			if r.Sees(p.Metadata.Namespace) {
				all = append(all, ExpectPlaced(r, p).text())
			}
		}
	case abi.NodeNominated:
		for _, p := range c.NominatedTo(name) {
			if r.Sees(p.Metadata.Namespace) {
				all = append(all, ExpectPlaced(r, p).text())
			}
		}
	case abi.NodeGenerations:
		return free
	case abi.NodeLabel:
		return value(n.Metadata.Labels, r.NodeLabels[arg])
	case abi.NodeZone:
		for _, key := range []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"} {
			if zone, ok := n.Metadata.Labels[key]; ok {
				return quote(zone)
			}
		}
		return absent
	default:
		panic(fmt.Sprintf("BUG: view: nobody knows what column %d shows", id))
	}
	return list(all)
}

// ExpectPlaced returns the cells of a pod on a node (ABI-4, table 2).
func ExpectPlaced(r *Reads, p *cluster.Pod) Cells {
	out := Cells{}
	r.each(abi.TablePods, func(id abi.ColumnID, arg int) { out[Key(id, arg)] = placedCell(r, p, id, arg) })
	return out
}

func placedCell(r *Reads, p *cluster.Pod, id abi.ColumnID, arg int) string {
	switch id {
	case abi.PodNamespace:
		return quote(p.Metadata.Namespace)
	case abi.PodPriority:
		return number(priority(p))
	case abi.PodRequests:
		return number(p.Requests(r.Resources[arg]))
	case abi.PodLabels:
		return pairs(p.Metadata.Labels)
	case abi.PodAnnotations:
		return value(p.Metadata.Annotations, r.PodAnnotations[arg])
	case abi.PodOwner:
		return Owner(p)
	case abi.PodLabel:
		return value(p.Metadata.Labels, r.PodLabels[arg])
	case abi.PodFlags:
		return bit(p.Metadata.Deletion != "")
	case abi.PodUID:
		return quote(p.Metadata.UID)
	case abi.PlacedPodName:
		return quote(p.Metadata.Name)
	case abi.PlacedPodLimits:
		return number(p.Limit(r.Resources[arg]))
	case abi.PlacedPodQOS:
		return quote(p.QOS())
	case abi.PlacedPodAssignedAt:
		return number(p.AssignedAt())
	case abi.PlacedPodCreatedAt:
		return number(p.Metadata.CreatedAt())
	case abi.PlacedPodState:
		return number(int64(p.State()))
	}
	panic(fmt.Sprintf("BUG: view: nobody knows what column %d shows", id))
}

// objectNumbers shows a column of numbers of an object.
func objectNumbers(numbers []int64) string {
	var all []string
	for _, n := range numbers {
		all = append(all, number(n))
	}
	return inOrder(all)
}

// objectTexts shows a column of texts of an object.
func objectTexts(texts []*string) string {
	var all []string
	for _, text := range texts {
		if text == nil {
			all = append(all, absent)
		} else {
			all = append(all, quote(*text))
		}
	}
	return inOrder(all)
}

func expectNamespace(r *Reads, c *cluster.Cluster, n *cluster.Namespace) Cells {
	out := Cells{Key(abi.NamespaceName, 0): quote(n.Metadata.Name)} // declared or not (ABI-4.14)
	r.each(abi.TableNamespaces, func(id abi.ColumnID, arg int) {
		switch id {
		case abi.NamespaceName:
		case abi.NamespaceLabels:
			out[Key(id, arg)] = pairs(n.Metadata.Labels)
		case abi.NamespaceLabel:
			out[Key(id, arg)] = value(n.Metadata.Labels, r.NamespaceLabels[arg])
		case abi.NamespaceRequested:
			out[Key(id, arg)] = number(c.RequestedIn(n.Metadata.Name, r.Resources[arg]))
		case abi.NamespaceObjectNumbers:
			out[Key(id, arg)] = objectNumbers(n.Objects[r.ObjectColumns[arg]].Numbers)
		case abi.NamespaceObjectTexts:
			out[Key(id, arg)] = objectTexts(n.Objects[r.ObjectColumns[arg]].Texts)
		default:
			panic(fmt.Sprintf("BUG: view: nobody knows what column %d shows", id))
		}
	})
	return out
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
