package state

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi/wire"
)

// PodTable has the columns of the pods table. A placed pod keeps its slot as long as it is
// placed; unused slots are empty.
type PodTable struct {
	// Pod is the decoded object, nil for an empty slot.
	Pod []*Pod
	// Namespace is a string id.
	Namespace []uint32
	Priority  []int32
	// MilliCPU and Memory (bytes) are the pod's requests.
	MilliCPU, Memory []int64
	// Labels is sorted by key id.
	Labels wire.Ragged[wire.Pair]

	generation []uint64
	nominated  []bool   // the slot is of a pod that is nominated and not placed
	base       int      // number of slots that the cache knows; those of overlays follow
	spares     []uint32 // the overlay row that each of those slots was added for
	scratch    pairScratch
}

func newPodTable() PodTable { return PodTable{} }

// Len returns the number of slots, including those of overlays.
func (t *PodTable) Len() int { return len(t.Pod) }

// Generation returns the generation of a slot's pod; 0 for an empty slot.
func (t *PodTable) Generation(slot uint32) uint64 { return t.generation[slot] }

// Nominated reports whether the pod of a slot is nominated to a node and not placed.
func (t *PodTable) Nominated(slot uint32) bool { return t.nominated[slot] }

// ensure makes the table have at least n slots.
func (t *PodTable) ensure(n int) {
	for len(t.Pod) < n {
		t.Pod = append(t.Pod, nil)
		t.Namespace = append(t.Namespace, 0)
		t.Priority = append(t.Priority, 0)
		t.MilliCPU = append(t.MilliCPU, 0)
		t.Memory = append(t.Memory, 0)
		t.generation = append(t.generation, 0)
		t.nominated = append(t.nominated, false)
	}
	t.Labels.Resize(len(t.Pod))
}

// write writes a slot unless it is up to date, and returns the number of bytes written.
func (t *PodTable) write(p *PlacedPod, strings *wire.Dict, h *history) (bytes int) {
	if int(p.Slot) >= t.base {
		t.base = int(p.Slot) + 1
		t.ensure(t.base)
	}
	if t.generation[p.Slot] == p.Generation {
		return 0
	}
	t.generation[p.Slot], t.nominated[p.Slot] = p.Generation, false
	h.slots = append(h.slots, p.Slot)
	return t.fill(p.Slot, p.Pod, strings)
}

func (t *PodTable) fill(slot uint32, pod *Pod, strings *wire.Dict) (bytes int) {
	t.Pod[slot] = pod
	t.Namespace[slot] = strings.Intern(pod.Namespace)
	t.Priority[slot] = pod.Priority
	t.MilliCPU[slot] = pod.Requests.MilliCPU
	t.Memory[slot] = pod.Requests.Memory
	pairs := t.scratch.intern(pod.Object.Labels, strings)
	return podBytes + int(unsafe.Sizeof(wire.Pair{}))*t.Labels.Set(slot, pairs)
}

// podBytes is the size of a slot without its labels.
const podBytes = 8 + 4 + 4 + 8 + 8

// clear empties a slot completely and returns the number of bytes written.
func (t *PodTable) clear(slot uint32) (bytes int) {
	if int(slot) >= len(t.Pod) {
		return 0
	}
	t.Pod[slot], t.Namespace[slot], t.Priority[slot], t.generation[slot] = nil, 0, 0, 0
	t.nominated[slot] = false
	t.MilliCPU[slot], t.Memory[slot] = 0, 0
	t.Labels.Set(slot, nil)
	return podBytes
}

// spare adds a slot for a pod that only an overlay row, and copies of it, have.
func (t *PodTable) spare(overlay uint32, pod *Pod, strings *wire.Dict) uint32 {
	slot := len(t.Pod)
	t.spares = append(t.spares, overlay)
	t.ensure(slot + 1)
	t.fill(uint32(slot), pod, strings)
	return uint32(slot)
}

// dropSpares removes the slots at the end that were added for overlay rows starting at the
// given one.
func (t *PodTable) dropSpares(row uint32) {
	n := len(t.Pod)
	for last := len(t.spares) - 1; last >= 0 && t.spares[last] >= row; last-- {
		t.spares = t.spares[:last]
		n--
	}
	if n == len(t.Pod) {
		return
	}
	t.Labels.Resize(n)
	clear(t.Pod[n:])
	t.Pod, t.Namespace, t.Priority = t.Pod[:n], t.Namespace[:n], t.Priority[:n]
	t.MilliCPU, t.Memory, t.generation, t.nominated = t.MilliCPU[:n], t.Memory[:n], t.generation[:n], t.nominated[:n]
}
