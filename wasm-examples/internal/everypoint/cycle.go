package everypoint

import (
	"encoding/binary"
	"strconv"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

const peersKey = "peers"

func (p *EveryPoint) setPeers(n uint32) berth.Status {
	p.state = binary.LittleEndian.AppendUint32(p.state[:0], n)
	if !p.StateSet(peersKey, p.state) {
		return berth.Error(p.Reason(noRoom))
	}
	return berth.Success
}

func (p *EveryPoint) peers() uint32 {
	b, ok := p.StateGet(peersKey)
	if !ok || len(b) != 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// PreFilter counts peers and runs steps.
func (p *EveryPoint) PreFilter(pod berth.Pod, nodes berth.Nodes) (*berth.Rows, berth.Status) {
	peers := uint32(0)
	for i := range nodes.Len() {
		pods := nodes.At(i).Pods()
		for j := range pods.Len() {
			if p.yes.Is(pods.At(j).Annotation(p.peer)) {
				peers++
			}
		}
	}
	if status := p.setPeers(peers); status != berth.Success {
		return nil, status
	}
	var rows *berth.Rows
	value := p.Text(pod.Annotation(p.at.preFilter))
	for verb, rest := range steps(value) {
		if verb == "only" {
			rows = p.only(nodes, strings.Fields(rest))
		} else if status, ended := p.step(call{pod: pod}, verb, rest); ended {
			return rows, status
		}
	}
	return rows, berth.Success
}

func (p *EveryPoint) only(nodes berth.Nodes, names []string) *berth.Rows {
	p.rows.Reset()
	for i := range nodes.Len() {
		for _, name := range names {
			if nodes.At(i).Name() == name {
				p.rows.Add(nodes.At(i))
				break
			}
		}
	}
	return &p.rows
}

// AddPod counts a peer.
func (p *EveryPoint) AddPod(pod, added berth.Pod, _ berth.Node) berth.Status {
	return p.change(pod, added, 1)
}

// RemovePod subtracts a peer.
func (p *EveryPoint) RemovePod(pod, removed berth.Pod, _ berth.Node) berth.Status {
	return p.change(pod, removed, -1)
}

// whole returns the name in the whole object of a pod, or `none`.
func (p *EveryPoint) whole(pod berth.Pod) string { return p.expand(call{pod: pod}, "{pod-object}") }

func (p *EveryPoint) change(pod, changed berth.Pod, by int32) berth.Status {
	if p.whole(pod) != "none" || p.whole(changed) != changed.Name() {
		return berth.Error(p.Reason("wrong object"))
	}
	if !p.yes.Is(changed.Annotation(p.peer)) {
		return berth.Success
	}
	return p.setPeers(uint32(int32(p.peers()) + by))
}

// Prepare judges all nodes at once if the first step of filter says so.
func (p *EveryPoint) Prepare(pod berth.Pod) berth.Status {
	for verb, rest := range steps(p.Text(pod.Annotation(p.at.filter))) {
		if verb != "all" {
			break
		}
		status, _ := p.status(word(rest))
		return status
	}
	return berth.Success
}

// Filter judges a node by peers, then by the steps.
func (p *EveryPoint) Filter(pod berth.Pod, node berth.Node) berth.Status {
	if limit, err := strconv.ParseUint(p.Text(pod.Annotation(p.maxPeers)), 10, 32); err == nil && uint64(p.peers()) >= limit {
		return berth.Unschedulable(p.tooMany)
	}
	rest, found := p.of(pod.Annotation(p.at.filter), node)
	if !found {
		return berth.Success
	}
	verb, reason := word(rest)
	status, _ := p.status(verb, p.expand(call{pod: pod, node: &node}, reason))
	return status
}

// of returns the first step for a node.
func (p *EveryPoint) of(annotation berth.ID, node berth.Node) (rest string, found bool) {
	if annotation == berth.Absent {
		return "", false
	}
	for name, rest := range steps(p.Text(annotation)) {
		if name == "*" || name == node.Name() {
			return rest, true
		}
	}
	return "", false
}

// PostFilter runs steps.
func (p *EveryPoint) PostFilter(pod berth.Pod, nodes berth.Judged) berth.Status {
	return p.do(call{pod: pod, judged: &nodes}, pod.Annotation(p.at.postFilter))
}

// PreScore runs steps.
func (p *EveryPoint) PreScore(pod berth.Pod, _ berth.Nodes) berth.Status {
	return p.do(call{pod: pod}, pod.Annotation(p.at.preScore))
}

// Score returns the number in the first step for the node.
func (p *EveryPoint) Score(pod berth.Pod, node berth.Node) int64 {
	rest, _ := p.of(pod.Annotation(p.at.score), node)
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Normalize scales scores to 0 … 100, reversed or not.
func (p *EveryPoint) Normalize(pod berth.Pod, _ berth.Nodes, scores []int64) berth.Status {
	value := p.Text(pod.Annotation(p.at.normalize))
	reverse := strings.Trim(value, " ;") == "reverse"
	status := berth.Success
	if !reverse {
		status = p.do(call{pod: pod}, pod.Annotation(p.at.normalize))
	}
	highest := int64(0)
	for i, s := range scores {
		if i == 0 || s > highest {
			highest = s
		}
	}
	for i := range scores {
		if reverse {
			scores[i] = highest - scores[i]
		}
		scores[i] = min(max(scores[i], 0), 100)
	}
	return status
}
