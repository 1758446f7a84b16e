package berthtest

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/berth-scheduler/berth/abi/internal/region"
)

// place gives each pod on a row a slot; some slots stay free.
func place(rows []*rowNode, r *rand.Rand) (map[*Pod]uint32, []*Pod) {
	var pods []*Pod
	seen := map[*Pod]bool{}
	for _, row := range rows {
		if row == nil {
			continue
		}
		for _, pod := range slices.Concat(row.pods, row.nominated) {
			if !seen[pod] {
				seen[pod], pods = true, append(pods, pod)
			}
		}
	}
	placed := make([]*Pod, len(pods))
	if r != nil {
		placed = make([]*Pod, len(pods)+2)
	}
	slots := map[*Pod]uint32{}
	for i, slot := range perm(len(placed), r)[:len(pods)] {
		placed[slot], slots[pods[i]] = pods[i], uint32(slot)
	}
	return slots, placed
}

// tables writes the tables of nodes, pods and namespaces.
func (img *image) tables(c *content) []table {
	all := img.rowsOf(c)
	slots, placed := place(all, img.rand)
	pods := map[*Pod]*region.Pod{}
	bySlot := make([]*region.Pod, len(placed))
	numbers := map[*region.Pod]uint32{}
	for pod, slot := range slots {
		p := tablePod(pod)
		pods[pod], bySlot[slot], numbers[p] = p, p, slot
	}
	nodes := img.encoder.Nodes(rows(all, pods), numbers)
	nodes.Rows, nodes.Overlays = img.rows, uint32(len(c.overlay))
	tables := []table{{nodes, img.capacity}, {img.encoder.Pods(bySlot), uint32(len(bySlot))}}
	if !c.aux && img.encoder.Reads.HasNamespaces() {
		t := img.encoder.Namespaces(img.namespaces(c))
		tables = append(tables, table{t, t.Rows})
	}
	return tables
}

func tablePod(p *Pod) *region.Pod {
	return &region.Pod{
		Namespace: p.Namespace, Name: p.Name, UID: p.uid(), Labels: p.Labels, Annotations: p.Annotations, Priority: p.Priority, Owner: p.Owner,
		Requests: p.request, NonZero: nonZero(p), Ports: ports(p.HostPorts), Terminating: p.Terminating,
		Limits: p.limit, QOS: p.qos(), AssignedAt: p.AssignedAt, CreatedAt: p.CreatedAt, Running: p.Running, Ready: p.Ready,
	}
}

// request returns what the pod requests of a resource; of pods it is one.
func (p *Pod) request(resource string) int64 {
	if n, ok := p.Requests[resource]; ok || resource != "pods" {
		return n
	}
	return 1
}

// limit returns the limit of a resource; −1 for none.
func (p *Pod) limit(resource string) int64 {
	if n, ok := p.Limits[resource]; ok {
		return n
	}
	return -1
}

// qos returns the QoS class.
func (p *Pod) qos() string { return cmp.Or(p.QOS, "BestEffort") }

// namespaces returns the rows of namespaces, including an empty one.
func (img *image) namespaces(c *content) []*region.Namespace {
	var rows []*region.Namespace
	if len(c.namespaces) > 0 {
		rows = make([]*region.Namespace, len(c.namespaces)+1)
	}
	for i, row := range perm(len(rows), img.rand)[:len(c.namespaces)] {
		n := &c.namespaces[i]
		rows[row] = &region.Namespace{
			Name: n.Name, Labels: n.Labels, Requested: func(resource string) int64 { return requestedIn(n.Name, c.nodes, resource) },
			Objects: n.Objects,
		}
	}
	return rows
}

// requestedIn returns what the pods of a namespace request that are on nodes; for pods their number.
func requestedIn(namespace string, nodes []Node, resource string) (sum int64) {
	for i := range nodes {
		for j := range nodes[i].Pods {
			switch p := &nodes[i].Pods[j]; {
			case p.Namespace != namespace:
			case resource == "pods":
				sum++
			default:
				sum += p.request(resource)
			}
		}
	}
	return sum
}
