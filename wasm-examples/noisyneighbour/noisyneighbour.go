// Package noisyneighbour is a plugin that limits how pods affect their neighbours: how many
// pods of one tenant share a node, and how many noisy pods, with how much cpu. Within the
// limits it spreads them.
package noisyneighbour

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// The reasons for rejecting a node.
const (
	ReasonTenant   = "node(s) had too many pods of the tenant"
	ReasonNoisy    = "node(s) had too many noisy pods"
	ReasonNoisyCPU = "node(s) had too much cpu of noisy pods"
)

// limits are those of one node. 0 means no limit. A tenant is a namespace; a pod is noisy if its
// label berth.dev/noisy is `true`.
type limits struct {
	podsPerTenant int64 // of one namespace
	noisyPods     int64 // of all tenants
	noisyMilliCPU int64 // the sum of their cpu requests
}

// NoisyNeighbour is the plugin.
type NoisyNeighbour struct {
	berth.Base
	noisy                     berth.PodLabel
	cpu                       berth.Resource
	noisyKey, yes             berth.Const
	tenant, tooNoisy, tooMuch berth.Reason

	limits limits
	// exempt are namespaces that the limits do not apply to, and whose pods do not count.
	exempt []berth.Const

	// Of this call's pod.
	namespace berth.ID
	isNoisy   bool
	request   int64
}

var (
	_ berth.Configurer = (*NoisyNeighbour)(nil)
	_ berth.Preparer   = (*NoisyNeighbour)(nil)
	_ berth.Filterer   = (*NoisyNeighbour)(nil)
	_ berth.Scorer     = (*NoisyNeighbour)(nil)
)

// New returns the plugin.
func New() *NoisyNeighbour {
	b := berth.Load(Manifest)
	return &NoisyNeighbour{
		Base:     b,
		noisy:    b.PodLabel("berth.dev/noisy"),
		cpu:      b.Resource("cpu"),
		noisyKey: b.Const("berth.dev/noisy"),
		yes:      b.Const("true"),
		tenant:   b.Reason(ReasonTenant),
		tooNoisy: b.Reason(ReasonNoisy),
		tooMuch:  b.Reason(ReasonNoisyCPU),
	}
}

// Configure reads the limits.
func (p *NoisyNeighbour) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("podsPerTenant", "noisyPods", "noisyMilliCPU", "exempt")
	p.limits = limits{
		podsPerTenant: c.Get("podsPerTenant").Int64(0), noisyPods: c.Get("noisyPods").Int64(0), noisyMilliCPU: c.Get("noisyMilliCPU").Int64(0),
	}
	p.exempt = nil
	for _, namespace := range c.Get("exempt").Elements() {
		p.exempt = append(p.exempt, p.Const(namespace.Text("")))
	}
	return c.Err()
}

func (p *NoisyNeighbour) isExempt(namespace berth.ID) bool {
	for _, e := range p.exempt {
		if e.Is(namespace) {
			return true
		}
	}
	return false
}

// Prepare reads the pod's tenant and demand.
func (p *NoisyNeighbour) Prepare(pod berth.Pod) berth.Status {
	p.namespace = pod.Namespace()
	if p.isExempt(p.namespace) {
		return berth.Skip
	}
	p.isNoisy = p.yes.Is(pod.LabelByKey(p.noisyKey.ID()))
	p.request = pod.Request(p.cpu)
	return berth.Success
}

// load is what the pods on a node add up to.
type load struct{ tenantPods, noisyPods, noisyCPU int64 }

func (p *NoisyNeighbour) load(node berth.Node) load {
	var l load
	pods := node.Pods()
	for i := range pods.Len() {
		pod := pods.At(i)
		namespace := pod.Namespace()
		if namespace == p.namespace {
			l.tenantPods++
		}
		if p.yes.Is(pod.Label(p.noisy)) && !p.isExempt(namespace) {
			l.noisyPods++
			l.noisyCPU += pod.Request(p.cpu)
		}
	}
	return l
}

// Filter rejects nodes on which the pod would exceed a limit. Preemption can help, because the
// limits are about pods that can be removed.
func (p *NoisyNeighbour) Filter(_ berth.Pod, node berth.Node) berth.Status {
	l := p.load(node)
	switch {
	case over(l.tenantPods+1, p.limits.podsPerTenant):
		return berth.Unschedulable(p.tenant)
	case p.isNoisy && over(l.noisyPods+1, p.limits.noisyPods):
		return berth.Unschedulable(p.tooNoisy)
	case p.isNoisy && over(l.noisyCPU+p.request, p.limits.noisyMilliCPU):
		return berth.Unschedulable(p.tooMuch)
	}
	return berth.Success
}

func over(n, limit int64) bool { return limit > 0 && n > limit }

// Score is how crowded the node is for this pod: the number of pods of its tenant, each counted
// as one cpu, plus the cpu of noisy pods, doubled if the pod itself is noisy. The manifest asks
// the host to normalize it with `reverse`: the least crowded node is best.
func (p *NoisyNeighbour) Score(_ berth.Pod, node berth.Node) int64 {
	l := p.load(node)
	crowd := 1000*l.tenantPods + l.noisyCPU
	if p.isNoisy {
		crowd += l.noisyCPU
	}
	return crowd
}
