package sim_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// peekReads are all names that a manifest may list, but for what no answer is kept of.
type peekReads struct {
	Node           []string `json:"node,omitempty"`
	NodeLabels     []string `json:"nodeLabels,omitempty"`
	NodeConditions []string `json:"nodeConditions,omitempty"`
	Resources      []string `json:"resources,omitempty"`
	Pods           []string `json:"pods,omitempty"`
	PodLabels      []string `json:"podLabels,omitempty"`
	Pod            []string `json:"pod,omitempty"`
}

// peekArgs make a peek.
type peekArgs struct {
	Reads      peekReads
	Salt       int
	Namespaces []string
}

// peek is a guest whose answers depend on all that its manifest declares to read, and on nothing else.
type peek struct {
	berth.Base
	args  peekArgs
	nodes []berth.NodeLabel
	ready berth.NodeCondition
	pods  []berth.PodLabel
	cpu   berth.Resource
	why   [2]berth.Reason
}

func (a *peekArgs) manifest() []byte {
	data, err := json.Marshal(map[string]any{
		"name": "peek", "version": "1.0.0", "publisher": "t", "license": "MIT", "description": "t", "abi": "1.0",
		"points": map[string]any{"filter": map[string]string{"scope": "node"}, "score": map[string]string{"scope": "node"}},
		"reads":  a.Reads,
	})
	if err != nil {
		panic(err)
	}
	return data
}

func newPeek(a peekArgs) *peek {
	b := berth.Load(a.manifest())
	p := &peek{Base: b, args: a}
	for _, key := range a.Reads.NodeLabels {
		p.nodes = append(p.nodes, b.NodeLabel(key))
	}
	for _, key := range a.Reads.PodLabels {
		p.pods = append(p.pods, b.PodLabel(key))
	}
	if len(a.Reads.NodeConditions) > 0 {
		p.ready = b.NodeCondition("Ready")
	}
	if len(a.Reads.Resources) > 0 {
		p.cpu = b.Resource("cpu")
	}
	p.why = [2]berth.Reason{b.Reason("even"), b.Reason("odd", "second")}
	return p
}

func hashed(of ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, of...)
	return h.Sum64()
}

func (p *peek) pairs(pairs []berth.Pair) (sum uint64) {
	for _, x := range pairs {
		sum += hashed(p.Text(x.Key), p.Text(x.Value))
	}
	return sum
}

func (p *peek) requirements(pod berth.Pod, of []berth.Requirement) (sum uint64) {
	for i := range of {
		r := &of[i]
		sum += hashed(p.Text(r.Key), r.Operator, r.Number)
		for _, id := range pod.Values(r) {
			sum += hashed(p.Text(id), len(of))
		}
	}
	return sum
}

func (p *peek) ports(ports []berth.Port) (sum uint64) {
	for _, x := range ports {
		sum += hashed(p.Text(x.IP), x.Port, x.Protocol)
	}
	return sum
}

func (p *peek) ofPod(pod berth.Pod) uint64 {
	h := uint64(p.args.Salt)
	add := func(of ...any) { h = h*31 + hashed(of...) }
	for _, name := range p.args.Reads.Pod {
		switch name {
		case "hostPorts":
			add(p.ports(pod.HostPorts()))
		case "tolerations":
			for _, t := range pod.Tolerations() {
				add(p.Text(t.Key), p.Text(t.Value), t.Operator, t.Effect)
			}
		case "images":
			for _, id := range pod.Images() {
				add(p.Text(id))
			}
		case "namespace":
			add(p.Text(pod.Namespace()))
		case "priority":
			add(pod.Priority())
		case "requests":
			add(pod.Request(p.cpu))
		case "labels":
			add(p.pairs(pod.Labels()))
		case "owner":
			add(p.Text(pod.Owner()))
		case "nodeSelector":
			add(p.requirements(pod, pod.NodeSelector()))
		case "affinity":
			terms, any := pod.RequiredTerms()
			add(any)
			for _, t := range slices.Concat(terms, pod.PreferredTerms()) {
				add(t.Weight, p.requirements(pod, pod.Requirements(t)))
			}
		case "nonZeroRequested":
			add(pod.NonZeroRequested())
		case "namespaceLabels":
			add(p.pairs(pod.NamespaceLabels()))
		case "nodeName":
			add(pod.NodeName())
		}
	}
	return h
}

func (p *peek) ofPlaced(pod berth.PlacedPod) uint64 {
	h := uint64(17)
	add := func(of ...any) { h = h*31 + hashed(of...) }
	for _, name := range p.args.Reads.Pods {
		switch name {
		case "namespace":
			add(p.Text(pod.Namespace()))
		case "priority":
			add(pod.Priority())
		case "requests":
			add(pod.Request(p.cpu))
		case "labels":
			add(p.pairs(pod.Labels()))
		case "owner":
			add(p.Text(pod.Owner()))
		case "flags":
			add(pod.Terminating())
		case "uid":
			add(pod.UID())
		case "name":
			add(pod.Name())
		}
	}
	for _, key := range p.pods {
		add(p.Text(pod.Label(key)))
	}
	return h
}

func (p *peek) of(pod berth.Pod, node berth.Node) uint64 {
	h := p.ofPod(pod)
	add := func(of ...any) { h = h*31 + hashed(of...) }
	for _, name := range p.args.Reads.Node {
		switch name {
		case "name":
			add(node.Name())
		case "flags":
			add(node.Unschedulable())
		case "allocatable":
			add(node.Allocatable(p.cpu))
		case "requested":
			add(node.Requested(p.cpu))
		case "nonZeroRequested":
			add(node.NonZeroRequested())
		case "labels":
			add(p.pairs(node.Labels()))
		case "taints":
			for _, t := range node.Taints() {
				add(p.Text(t.Key), p.Text(t.Value), t.Effect)
			}
		case "ports":
			add(p.ports(node.Ports()))
		case "images":
			sum := uint64(0)
			for _, image := range node.Images() {
				sum += hashed(p.Text(image.Name), image.Size)
			}
			add(sum)
		case "pods":
			sum := uint64(0)
			for i := range node.Pods().Len() {
				sum += p.ofPlaced(node.Pods().At(i))
			}
			add(sum)
		case "zone":
			add(p.Text(node.Zone()))
		}
	}
	for _, key := range p.nodes {
		add(p.Text(node.Label(key)))
	}
	if len(p.args.Reads.NodeConditions) > 0 {
		add(node.Condition(p.ready))
	}
	return h
}

func (p *peek) Filter(pod berth.Pod, node berth.Node) berth.Status {
	switch h := p.of(pod, node); {
	case h%5 == 0:
		return berth.Unschedulable(p.why[h/5%2])
	case h%23 == 1:
		return berth.UnschedulableAndUnresolvable(p.why[1])
	}
	return berth.Success
}

func (p *peek) Score(pod berth.Pod, node berth.Node) int64 { return int64(p.of(pod, node) / 7 % 101) }
