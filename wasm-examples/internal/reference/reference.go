// Package reference is the reference workload of hostplugins/workload as a plugin, for
// benchmarks: taints and tolerations, required node affinity, and resources, with the verdicts
// and reasons of kube-scheduler's plugins. CSR finds labels in each node's list, Dense in a
// column for each declared key.
package reference

import (
	_ "embed"
	"errors"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// ManifestCSR and ManifestDense are the manifests of the two variants.
var (
	//go:embed manifest-csr.json
	ManifestCSR []byte
	//go:embed manifest-dense.json
	ManifestDense []byte
)

// common is what both variants share.
type common struct {
	berth.Base
	cpu, memory, pods   berth.Resource
	tainted, mismatched berth.Reason
	lacking             [8]berth.Reason // by bits: pods, cpu, memory

	// Of this call's pod.
	tolerations        []berth.Toleration
	needCPU, needBytes int64
}

// check is a requirement with its values resolved.
type check struct {
	key         berth.ID        // CSR
	label       berth.NodeLabel // Dense
	requirement *berth.Requirement
	values      []berth.ID
}

// holds is pod.Holds, with the common operator inlined.
func (c *check) holds(pod berth.Pod, value berth.ID) bool {
	if c.requirement.Operator != berth.In {
		return pod.Holds(c.requirement, value)
	}
	for _, v := range c.values {
		if v == value {
			return true
		}
	}
	return false
}

// checks resolves the terms of the pod's required affinity into to. label finds the column of a
// key.
func checks(to [][]check, pod berth.Pod, label func(berth.ID) (berth.NodeLabel, error)) (terms [][]check, any bool, err error) {
	all, any := pod.RequiredTerms()
	n := 0
	for _, t := range all {
		if t.Unusable() {
			continue
		}
		if n == len(to) {
			to = append(to, nil)
		}
		to[n] = to[n][:0]
		requirements := pod.Requirements(t)
		for i := range requirements {
			c := check{key: requirements[i].Key, requirement: &requirements[i], values: pod.Values(&requirements[i])}
			if c.label, err = label(c.key); err != nil {
				return nil, any, err
			}
			to[n] = append(to[n], c)
		}
		n++
	}
	return to[:n], any, nil
}

func newCommon(manifest []byte) common {
	b := berth.Load(manifest)
	c := common{
		Base: b, cpu: b.Resource("cpu"), memory: b.Resource("memory"), pods: b.Resource("pods"),
		tainted:    b.Reason("node(s) had untolerated taint(s)"),
		mismatched: b.Reason("node(s) didn't match Pod's node affinity/selector"),
	}
	for bits := 1; bits < 8; bits++ {
		var texts []string
		for i, text := range []string{"Too many pods", "Insufficient cpu", "Insufficient memory"} {
			if bits&(1<<i) != 0 {
				texts = append(texts, text)
			}
		}
		c.lacking[bits] = b.Reason(texts...)
	}
	return c
}

func (p *common) prepare(pod berth.Pod) {
	p.tolerations = pod.Tolerations()
	p.needCPU, p.needBytes = pod.Request(p.cpu), pod.Request(p.memory)
}

// tolerated reports whether the pod tolerates the taints of a node that exclude pods.
func (p *common) tolerated(taints []berth.Taint) bool {
next:
	for i := range taints {
		t := &taints[i]
		if t.Effect == berth.PreferNoSchedule {
			continue
		}
		for j := range p.tolerations {
			if p.tolerations[j].Tolerates(t) {
				continue next
			}
		}
		return false
	}
	return true
}

// fits judges the node's resources.
func (p *common) fits(node berth.Node) berth.Status {
	lacks, never := 0, false
	if node.Requested(p.pods)+1 > node.Allocatable(p.pods) {
		lacks |= 1
	}
	if p.needCPU > 0 {
		if has := node.Allocatable(p.cpu); p.needCPU > has-node.Requested(p.cpu) {
			lacks |= 2
			never = p.needCPU > has
		}
	}
	if p.needBytes > 0 {
		if has := node.Allocatable(p.memory); p.needBytes > has-node.Requested(p.memory) {
			lacks |= 4
			never = never || p.needBytes > has
		}
	}
	switch {
	case lacks == 0:
		return berth.Success
	case never:
		return berth.UnschedulableAndUnresolvable(p.lacking[lacks])
	}
	return berth.Unschedulable(p.lacking[lacks])
}

// CSR is the variant that reads all labels.
type CSR struct {
	common
	terms [][]check // of this call's pod
	any   bool
}

var (
	_ berth.Preparer = (*CSR)(nil)
	_ berth.Filterer = (*CSR)(nil)
)

// NewCSR returns the variant that reads all labels.
func NewCSR() *CSR { return &CSR{common: newCommon(ManifestCSR)} }

// Prepare resolves the pod's terms.
func (p *CSR) Prepare(pod berth.Pod) berth.Status {
	p.prepare(pod)
	p.terms, p.any, _ = checks(p.terms, pod, func(berth.ID) (berth.NodeLabel, error) { return 0, nil })
	return berth.Success
}

// Filter judges a node.
func (p *CSR) Filter(pod berth.Pod, node berth.Node) berth.Status {
	if !p.tolerated(node.Taints()) {
		return berth.UnschedulableAndUnresolvable(p.tainted)
	}
	if p.any && !p.matches(pod, node.Labels()) {
		return berth.UnschedulableAndUnresolvable(p.mismatched)
	}
	return p.fits(node)
}

func (p *CSR) matches(pod berth.Pod, labels []berth.Pair) bool {
next:
	for _, term := range p.terms {
		for i := range term {
			if !term[i].holds(pod, value(labels, term[i].key)) {
				continue next
			}
		}
		return true
	}
	return false
}

func value(labels []berth.Pair, key berth.ID) berth.ID {
	for i := range labels {
		if labels[i].Key == key {
			return labels[i].Value
		}
	}
	return berth.Absent
}

// Dense is the variant that reads declared label keys.
type Dense struct {
	common
	keys [2]struct {
		key    berth.Const
		handle berth.NodeLabel
	}
	terms [][]check // of this call's pod
	any   bool
}

var (
	_ berth.Preparer = (*Dense)(nil)
	_ berth.Filterer = (*Dense)(nil)
)

// NewDense returns the variant that reads declared label keys.
func NewDense() *Dense {
	p := &Dense{common: newCommon(ManifestDense)}
	for i, key := range [...]string{"topology.kubernetes.io/zone", "example.com/pool"} {
		p.keys[i].key, p.keys[i].handle = p.Const(key), p.NodeLabel(key)
	}
	return p
}

// Prepare resolves the pod's terms.
func (p *Dense) Prepare(pod berth.Pod) berth.Status {
	p.prepare(pod)
	var err error
	if p.terms, p.any, err = checks(p.terms, pod, p.handle); err != nil {
		return berth.Error(p.Reason(err.Error()))
	}
	return berth.Success
}

func (p *Dense) handle(key berth.ID) (berth.NodeLabel, error) {
	for i := range p.keys {
		if p.keys[i].key.Is(key) {
			return p.keys[i].handle, nil
		}
	}
	return 0, errors.New("the label " + p.Text(key) + " is not declared")
}

// Filter judges a node.
func (p *Dense) Filter(pod berth.Pod, node berth.Node) berth.Status {
	if !p.tolerated(node.Taints()) {
		return berth.UnschedulableAndUnresolvable(p.tainted)
	}
	if p.any && !p.matches(pod, node) {
		return berth.UnschedulableAndUnresolvable(p.mismatched)
	}
	return p.fits(node)
}

func (p *Dense) matches(pod berth.Pod, node berth.Node) bool {
next:
	for _, term := range p.terms {
		for i := range term {
			if !term[i].holds(pod, node.Label(term[i].label)) {
				continue next
			}
		}
		return true
	}
	return false
}
