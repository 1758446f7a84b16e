package gpushare

import (
	"math/bits"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Node is what is left of a node.
type Node struct {
	// CPU is in milli-CPU.
	CPU int64
	// N is the number of GPUs, and Free the milli-GPU left on each; beyond N it is 0.
	N    int
	Free [Most]int16
}

// Fits reports whether the GPUs have what a pod requests.
func (n *Node) Fits(d Demand) bool {
	fit := 0
	for _, free := range n.Free[:n.N] {
		if int64(free) >= d.Milli {
			fit++
		}
	}
	return fit >= d.GPUs
}

// GPU returns the milli-GPU left on all GPUs.
func (n *Node) GPU() (sum int64) {
	for _, free := range n.Free[:n.N] {
		sum += int64(free)
	}
	return sum
}

// Node subtracts what the pods on a node have taken. Nothing is left of a GPU that is assigned
// twice. A pod that requests GPUs but has none, because it is nominated or was placed by
// others, counts as if it had whole ones, those with the most left: it will get some, and it is
// unknown which.
func (p *Plugin) Node(node berth.Node) Node {
	n := Node{
		CPU: node.Allocatable(p.cpu) - node.Requested(p.cpu),
		N:   int(min(max(p.value(node.Annotation(p.has)).number, 0), Most)),
	}
	for i := range n.N {
		n.Free[i] = Whole
	}
	unknown := int32(0)
	pods := node.Pods()
	for i := range pods.Len() {
		pod := pods.At(i)
		taken := p.value(pod.Annotation(p.devices)).set & (1<<n.N - 1)
		if taken == 0 {
			unknown = min(unknown+max(p.value(pod.Annotation(p.count)).number, 0), Most)
			continue
		}
		milli := int16(min(max(p.value(pod.Annotation(p.milli)).number, 0), Whole))
		for ; taken != 0; taken &= taken - 1 {
			free := &n.Free[bits.TrailingZeros32(taken)%Most]
			*free = max(*free-milli, 0)
		}
	}
	for unknown > 0 && n.takeMost() {
		unknown--
	}
	return n
}

// takeMost takes the GPU with the most left, the first of equals; false if nothing is left.
func (n *Node) takeMost() bool {
	most := 0
	for i := range n.Free {
		if n.Free[i] > n.Free[most] {
			most = i
		}
	}
	had := n.Free[most] > 0
	n.Free[most] = 0
	return had
}

// values are parsed annotations, by the ids of their texts. It is not empty once a call has
// begun.
type values struct {
	epoch uint64
	known []value
}

type value struct {
	known  bool
	number int32  // −1 if invalid; 0 without annotation
	set    uint32 // of GPUs, one bit each
}

// begin drops values of another epoch.
func (v *values) begin(epoch uint64) {
	if v.epoch == epoch && v.known != nil {
		return
	}
	v.epoch = epoch
	v.known = append(v.known, make([]value, max(64-len(v.known), 0))...)
	clear(v.known)
	v.known[berth.Absent].known = true
}

// value returns a parsed annotation.
func (p *Plugin) value(id berth.ID) *value {
	if known := p.values.known; int(id) < len(known) && known[id].known {
		return &known[id]
	}
	return p.read(id)
}

func (p *Plugin) read(id berth.ID) *value {
	v := &p.values
	if int(id) >= len(v.known) {
		v.known = append(v.known, make([]value, max(int(id)+1, 2*len(v.known))-len(v.known))...)
	}
	text := p.Text(id)
	v.known[id] = value{known: true, number: number(text), set: set(text)}
	return &v.known[id]
}

// number reads a decimal number below 10⁶; −1 if invalid.
func number(text string) int32 {
	n := int32(0)
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' || n > 99_999 {
			return -1
		}
		n = 10*n + int32(text[i]-'0')
	}
	if text == "" {
		return -1
	}
	return n
}

// set reads comma-separated numbers, as Take writes them. It skips invalid ones, and numbers
// that are Most or more.
func set(text string) (s uint32) {
	for start := 0; start <= len(text); {
		end := start
		for end < len(text) && text[end] != ',' {
			end++
		}
		if n := number(text[start:end]); n >= 0 && n < Most {
			s |= 1 << n
		}
		start = end + 1
	}
	return s
}
