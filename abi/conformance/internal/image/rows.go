package image

import (
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/wire"
)

// tables returns the writer of the tables, with the dictionary's ids.
func (e *Encoder) tables() *region.Encoder {
	r := e.Reads
	return &region.Encoder{ID: e.Dict.Intern, Order: e.Order, Bits: e.Bits, Reads: region.Reads{
		Node: r.Node, Pods: r.Pods, Namespaces: r.Namespaces, Resources: r.Resources,
		NodeLabels: r.NodeLabels, NodeAnnotations: r.NodeAnnotations, NodeConditions: r.NodeConditions,
		PodLabels: r.PodLabels, PodAnnotations: r.PodAnnotations, NamespaceLabels: r.NamespaceLabels, Feeds: r.Feeds,
		ObjectColumns: r.ObjectColumns, Joins: r.Joins(),
	}}
}

// node returns the row of a node with pods, by their indices in the cluster.
func (e *Encoder) node(c *cluster.Cluster, index int, on []int, of []*region.Pod) *region.Node {
	n := &c.Nodes[index]
	var pods []*region.Pod
	var known []*cluster.Pod
	for _, i := range on {
		pods, known = append(pods, of[i]), append(known, &c.Pods[i])
	}
	out := &region.Node{
		Name: n.Metadata.Name, Unschedulable: n.Spec.Unschedulable, Allocatable: n.Allocatable, Capacity: n.Capacity,
		CreatedAt: n.Metadata.CreatedAt(), Labels: n.Metadata.Labels,
		Annotations: n.Metadata.Annotations, Conditions: map[string]string{}, Generation: uint64(index) + 1, Pods: pods,
		Objects: objects(n.Objects),
		Feeds:   map[string]region.Cell{}, RequestedSince: func(resource string) int64 { return cluster.Since(n, e.Reads.Feeds, resource, known) },
	}
	for i := range c.Pods {
		if p := &c.Pods[i]; p.Spec.NodeName == "" && p.Status.NominatedNodeName == n.Metadata.Name {
			out.Nominated = append(out.Nominated, of[i])
		}
	}
	for name, f := range n.Feeds {
		out.Feeds[name] = region.Cell{Value: f.Value, State: f.State}
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, region.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	for _, image := range n.Status.Images {
		for _, name := range image.Names {
			out.Images = append(out.Images, region.Image{Name: name, Size: image.Size})
		}
	}
	for _, c := range n.Status.Conditions {
		if _, before := out.Conditions[c.Type]; !before {
			out.Conditions[c.Type] = c.Status
		}
	}
	return out
}

func pod(p *cluster.Pod) *region.Pod {
	out := &region.Pod{
		Namespace: p.Metadata.Namespace, Name: p.Metadata.Name, UID: p.Metadata.UID, Labels: p.Metadata.Labels,
		Annotations: p.Metadata.Annotations, Priority: priority(p), Owner: owner(p), Requests: p.Requests, Ports: ports(p),
		Terminating: p.Metadata.Deletion != "", Limits: p.Limit, QOS: p.QOS(), AssignedAt: p.AssignedAt(), CreatedAt: p.Metadata.CreatedAt(),
		Running: p.State()&1 != 0, Ready: p.State()&2 != 0,
	}
	out.NonZero[0], out.NonZero[1] = p.NonZeroRequests()
	return out
}

// namespaces returns the rows of the namespaces that the plugin may see.
func (e *Encoder) namespaces(c *cluster.Cluster, n *Numbering) []*region.Namespace {
	rows := make([]*region.Namespace, len(n.Namespaces))
	for row, i := range n.Namespaces {
		if i >= 0 && e.Reads.Sees(c.Namespaces[i].Metadata.Name) {
			m := &c.Namespaces[i].Metadata
			requested := func(resource string) int64 { return c.RequestedIn(m.Name, resource) }
			rows[row] = &region.Namespace{Name: m.Name, Labels: m.Labels, Requested: requested, Objects: objects(c.Namespaces[i].Objects)}
		}
	}
	return rows
}

// value returns the id of a key's value, 0 if there is none.
func (e *Encoder) value(from map[string]string, key string) uint32 {
	if v, ok := from[key]; ok {
		return e.Dict.Intern(v)
	}
	return 0
}

// owner returns `Kind/name` of the controller, empty if there is none.
func owner(p *cluster.Pod) string {
	for _, o := range p.Metadata.Owners {
		if o.Controller {
			return o.Kind + "/" + o.Name
		}
	}
	return ""
}

// ports returns the host ports of a pod.
func ports(p *cluster.Pod) (out []region.Port) {
	for i := range p.Spec.Containers {
		for _, port := range p.Spec.Containers[i].Ports {
			if port.HostPort != 0 {
				out = append(out, region.Port{IP: port.HostIP, Port: uint16(port.HostPort), Protocol: port.Protocol})
			}
		}
	}
	return out
}

func effect(name string) wire.Effect {
	return map[string]wire.Effect{"NoSchedule": wire.NoSchedule, "PreferNoSchedule": wire.PreferNoSchedule, "NoExecute": wire.NoExecute}[name]
}

func priority(p *cluster.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// imageName normalizes a name as the host's ImageLocality does.
func imageName(image string) string { return view.ImageName(image) }

// objects returns what objects say, as the tables have it.
func objects(of map[string]cluster.Values) map[string]region.Values {
	out := make(map[string]region.Values, len(of))
	for column, values := range of {
		out[column] = region.Values(values)
	}
	return out
}
