package gpushare

import (
	"slices"
	"strconv"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// gpu is a GPU of a node, and what pods have of it.
type gpu struct {
	uuid, kind, mode              string
	count, memory, cores, numa    int64
	healthy                       bool
	shares, usedMemory, usedCores int64
}

// portion is what a container has of a GPU.
type portion struct {
	container     int
	uuid          string
	memory, cores int64
}

// memo keeps what annotations of nodes say, by their ids, which are those of texts until the epoch changes. So it saves work, and cannot change
// answers.
type memo struct {
	epoch uint64
	at    []uint32 // by id, the place in nodes plus 1
	nodes [][]gpu
}

// many is how many annotations are kept before all are forgotten.
const many = 1 << 14

// get returns what is kept for an id.
func (m *memo) get(id berth.ID, epoch uint64) ([]gpu, bool) {
	if m.epoch != epoch || len(m.nodes) > many {
		*m = memo{epoch: epoch}
	}
	if int(id) >= len(m.at) || m.at[id] == 0 {
		return nil, false
	}
	return m.nodes[m.at[id]-1], true
}

func (m *memo) set(id berth.ID, gpus []gpu) {
	if n := int(id) + 1 - len(m.at); n > 0 {
		m.at = append(m.at, make([]uint32, n)...)
	}
	m.nodes = append(m.nodes, gpus)
	m.at[id] = uint32(len(m.nodes))
}

// look sets p.gpus; false if the node has none.
func (p *GPUShare) look(node berth.Node) bool {
	p.gpus = p.gpus[:0]
	register := node.Annotation(p.register)
	if register == berth.Absent {
		return false
	}
	gpus, ok := p.memo.get(register, p.Snapshot().Epoch())
	if !ok {
		text := strings.Clone(p.Text(register)) // what is kept refers to it
		if text != "" && text[0] == '[' {
			gpus = registered(text)
		} else {
			gpus = registeredAsText(text)
		}
		p.memo.set(register, gpus)
	}
	p.gpus = append(p.gpus, gpus...)
	if cordon := node.Annotation(p.cordon); cordon != berth.Absent {
		without := words(p.Text(cordon))
		for i := range p.gpus {
			p.gpus[i].healthy = p.gpus[i].healthy && !slices.Contains(without, p.gpus[i].uuid)
		}
	}
	pods := node.Pods()
	for i := range pods.Len() {
		if taken := pods.At(i).Annotation(p.taken); taken != berth.Absent {
			p.useAll(p.Text(taken))
		}
	}
	return len(p.gpus) > 0
}

// use adds what a container has.
func (p *GPUShare) use(uuid string, memory, cores int64) {
	for i := range p.gpus {
		if g := &p.gpus[i]; g.uuid == uuid {
			g.shares++
			g.usedMemory += memory
			g.usedCores += cores
			return
		}
	}
}

// text is the annotation for what the pod gets.
func (p *GPUShare) text() string {
	out, next := "", 0
	for container := range p.pod.requests {
		for ; next < len(p.out) && p.out[next].container == container; next++ {
			of := &p.out[next]
			out += of.uuid + ",NVIDIA," + strconv.FormatInt(of.memory, 10) + "," + strconv.FormatInt(of.cores, 10) + ":"
		}
		out += ";"
	}
	return out
}
