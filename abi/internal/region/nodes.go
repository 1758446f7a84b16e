package region

import (
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Node is a row of the table of nodes.
type Node struct {
	Name          string
	Unschedulable bool
	// Allocatable and Capacity are in milli-CPU, bytes or a count.
	Allocatable, Capacity func(resource string) int64
	// CreatedAt is in seconds since 1970; 0 for none.
	CreatedAt           int64
	Labels, Annotations map[string]string
	Taints              []Taint
	Images              []Image
	// Conditions has True, False or Unknown by type.
	Conditions map[string]string
	// Feeds has what feeds say, by their names with units.
	Feeds map[string]Cell
	// Objects has what objects of the node say, by columns as manifests have them.
	Objects map[string]Values
	// RequestedSince is what the samples of feeds cannot contain.
	RequestedSince func(resource string) int64
	Generation     uint64
	Pods           []*Pod
	Nominated      []*Pod
}

// Cell is a value of a feed, and its state: 0 none, 1 fresh, 2 stale.
type Cell struct {
	Value int64
	State uint8
}

// Values are those of a column of objects: numbers, or texts of which nil is none.
type Values struct {
	Numbers []int64
	Texts   []*string
}

// Taint is a taint of a node.
type Taint struct{ Key, Value, Effect string }

// Image is an image on a node, by one of its names, with its size in bytes.
type Image struct {
	Name string
	Size int64
}

// Nodes writes table 1: its rows, spare rows (nil) if there are any, and overlay rows.
// The list of pods has those that have slots.
func (e *Encoder) Nodes(all []*Node, slots map[*Pod]uint32) Table {
	t := Table{ID: 1}
	r := &e.Reads
	has := func(name string) bool { return slices.Contains(r.Node, name) }
	if has("name") {
		lists(e, &t, all, 1, typeBytes, func(b []byte, n *Node) []byte { return append(b, n.Name...) })
	}
	if has("flags") {
		column(&t, all, 2, 0, typeU8, func(b []byte, n *Node) []byte { return e.flags(b, n.Unschedulable) })
	}
	for i, name := range r.Resources {
		if has("allocatable") {
			column(&t, all, 3, i, typeI64, func(b []byte, n *Node) []byte { return i64(b, n.Allocatable(name)) })
		}
		if has("capacity") {
			column(&t, all, 162, i, typeI64, func(b []byte, n *Node) []byte { return i64(b, n.Capacity(name)) })
		}
		if has("requested") {
			column(&t, all, 4, i, typeI64, func(b []byte, n *Node) []byte { return i64(b, n.requested(name)) })
		}
	}
	for i := range 2 {
		if has("nonZeroRequested") {
			column(&t, all, 5, i, typeI64, func(b []byte, n *Node) []byte {
				return i64(b, n.sum(func(p *Pod) int64 { return p.NonZero[i] }))
			})
		}
	}
	if has("labels") {
		lists(e, &t, all, 6, typePair, func(b []byte, n *Node) []byte { return e.Pairs(b, n.Labels) })
	}
	keyed(e, &t, all, 7, r.NodeAnnotations, func(n *Node) map[string]string { return n.Annotations })
	if has("taints") {
		lists(e, &t, all, 8, typeTaint, e.taints)
	}
	if has("ports") {
		lists(e, &t, all, 9, typePort, func(b []byte, n *Node) []byte {
			for _, i := range e.order(len(n.Pods)) {
				b = e.Ports(b, n.Pods[i].Ports)
			}
			return b
		})
	}
	if has("images") {
		lists(e, &t, all, 10, typeImg, func(b []byte, n *Node) []byte {
			for _, i := range e.order(len(n.Images)) {
				image := n.Images[i]
				b = i64(u32(b, e.ID(image.Name), 0), image.Size)
			}
			return b
		})
	}
	for i, typ := range r.NodeConditions {
		column(&t, all, 11, i, typeU8, func(b []byte, n *Node) []byte {
			return append(b, map[string]byte{"True": 1, "False": 2, "Unknown": 3}[n.Conditions[typ]])
		})
	}
	if has("pods") {
		lists(e, &t, all, 12, typeU32, func(b []byte, n *Node) []byte { return e.slots(b, n.Pods, slots) })
	}
	if has("nominated") {
		lists(e, &t, all, 167, typeU32, func(b []byte, n *Node) []byte { return e.slots(b, n.Nominated, slots) })
	}
	if has("generation") {
		column(&t, all, 13, 0, typeU64, func(b []byte, n *Node) []byte { return i64(b, int64(n.Generation)) })
	}
	keyed(e, &t, all, 14, r.NodeLabels, func(n *Node) map[string]string { return n.Labels })
	if has("zone") {
		column(&t, all, 16, 0, typeU32, func(b []byte, n *Node) []byte { return u32(b, e.zone(n)) })
	}
	if has("createdAt") {
		column(&t, all, 163, 0, typeI64, func(b []byte, n *Node) []byte { return i64(b, n.CreatedAt) })
	}
	e.feeds(&t, all)
	objects(e, &t, all, 194, 195, "node", func(n *Node) map[string]Values { return n.Objects })
	return t
}

// joined reports whether a column of objects is of those that belong to something.
func (r *Reads) joined(column, join string) bool {
	return r.Joins[column[:max(0, strings.IndexAny(column, ".["))]] == join
}

// objects writes the columns of objects that belong to the rows: of numbers and of texts.
func objects[R any](e *Encoder, t *Table, all []*R, numbers, texts abi.ColumnID, join string, of func(*R) map[string]Values) {
	for i, name := range e.Reads.ObjectColumns {
		if !e.Reads.joined(name, join) {
			continue
		}
		if strings.HasSuffix(name, ":string") {
			keyedLists(e, t, all, texts, i, typeU32, func(b []byte, row *R) []byte {
				for _, text := range of(row)[name].Texts {
					if text == nil {
						b = u32(b, 0)
					} else {
						b = u32(b, e.ID(*text))
					}
				}
				return b
			})
			continue
		}
		keyedLists(e, t, all, numbers, i, typeI64, func(b []byte, row *R) []byte {
			for _, number := range of(row)[name].Numbers {
				b = i64(b, number)
			}
			return b
		})
	}
}

func (e *Encoder) feeds(t *Table, all []*Node) {
	for i, name := range e.Reads.Feeds {
		column(t, all, 190, i, typeI64, func(b []byte, n *Node) []byte { return i64(b, n.Feeds[name].Value) })
	}
	for i, name := range e.Reads.Feeds {
		column(t, all, 191, i, typeU8, func(b []byte, n *Node) []byte { return append(b, n.Feeds[name].State) })
	}
	if slices.Contains(e.Reads.Node, "requestedSince") {
		for i, name := range e.Reads.Resources {
			column(t, all, 193, i, typeI64, func(b []byte, n *Node) []byte { return i64(b, n.RequestedSince(name)) })
		}
	}
}

func (n *Node) sum(of func(p *Pod) int64) (sum int64) {
	for _, p := range n.Pods {
		sum += of(p)
	}
	return sum
}

func (n *Node) requested(resource string) int64 {
	if resource == "pods" {
		return int64(len(n.Pods))
	}
	return n.sum(func(p *Pod) int64 { return p.Requests(resource) })
}

func (e *Encoder) taints(b []byte, n *Node) []byte {
	for _, i := range e.order(len(n.Taints)) {
		t := n.Taints[i]
		effect, _ := Effect(t.Effect)
		b = u32(b, e.ID(t.Key), e.ID(t.Value), effect)
	}
	return b
}

func (e *Encoder) zone(n *Node) uint32 {
	for _, key := range []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"} {
		if zone, ok := n.Labels[key]; ok {
			return e.ID(zone)
		}
	}
	return 0
}

// slots writes the slots of pods, those that have one.
func (e *Encoder) slots(b []byte, pods []*Pod, slots map[*Pod]uint32) []byte {
	var on []uint32
	for _, p := range pods {
		if slot, ok := slots[p]; ok {
			on = append(on, slot)
		}
	}
	slices.Sort(on)
	for _, i := range e.order(len(on)) {
		b = u32(b, on[i])
	}
	return b
}
