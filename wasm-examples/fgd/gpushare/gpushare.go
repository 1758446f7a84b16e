// Package gpushare has what the GPU plugins of this folder share: annotations say which pod has
// which share of which GPU, a pod gets a share of one GPU or whole GPUs, and Reserve assigns
// devices. Plugins differ in how they score nodes, and in the device for a share.
package gpushare

import (
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// The annotations.
const (
	// CountAnnotation is the number of GPUs that a node has, or a pod requests.
	CountAnnotation = "berth.dev/gpu-count"
	// MilliAnnotation is a pod's request for each of its GPUs, in thousandths.
	MilliAnnotation = "berth.dev/gpu-milli"
	// DevicesAnnotation has the GPUs of a pod, as `0` or `0,1`. Reserve sets it.
	DevicesAnnotation = "berth.dev/gpu-devices"
)

const (
	// Whole is a whole GPU, in milli-GPU.
	Whole = 1000
	// Most is the maximum number of GPUs of a node that are assigned.
	Most = 16
)

// The reasons for rejecting a node or a pod.
const (
	ReasonFew   = "node(s) had too few GPUs"
	ReasonFree  = "node(s) had too little left of each GPU"
	ReasonWrong = "the annotations " + CountAnnotation + " and " + MilliAnnotation + " are not one share of a GPU, or up to 16 whole ones"
	ReasonRace  = "the node's GPUs were taken meanwhile"
)

// Demand is the request of a pod.
type Demand struct {
	// CPU is in milli-CPU.
	CPU int64
	// GPUs is the number of GPUs, and Milli the milli-GPU of each: both 0 for none; less than
	// Whole of one, or all of one or more.
	GPUs  int
	Milli int64
}

// Shares reports whether the pod requests a share of a GPU, which others may share.
func (d Demand) Shares() bool { return d.GPUs == 1 && d.Milli < Whole }

// Plugin is embedded in the plugins.
type Plugin struct {
	berth.Base
	cpu                             berth.Resource
	has                             berth.NodeAnnotation
	count, milli, devices           berth.PodAnnotation
	tooFew, tooLittle, wrong, raced berth.Reason
	values                          values

	// Demand is the demand of this call's pod.
	Demand Demand
}

// New returns the common part of a plugin with a manifest.
func New(manifest []byte) Plugin {
	b := berth.Load(manifest)
	return Plugin{
		Base: b, cpu: b.Resource("cpu"), has: b.NodeAnnotation(CountAnnotation),
		count: b.PodAnnotation(CountAnnotation), milli: b.PodAnnotation(MilliAnnotation), devices: b.PodAnnotation(DevicesAnnotation),
		tooFew: b.Reason(ReasonFew), tooLittle: b.Reason(ReasonFree), wrong: b.Reason(ReasonWrong), raced: b.Reason(ReasonRace),
	}
}

// Prepare reads the pod's demand.
func (p *Plugin) Prepare(pod berth.Pod) berth.Status {
	p.values.begin(p.Snapshot().Epoch())
	gpus, milli := p.value(pod.Annotation(p.count)).number, p.value(pod.Annotation(p.milli)).number
	share, whole := gpus == 1 && milli > 0 && milli <= Whole, gpus > 0 && gpus <= Most && milli == Whole
	if !share && !whole && (gpus != 0 || milli != 0) {
		return berth.UnschedulableAndUnresolvable(p.wrong)
	}
	p.Demand = Demand{CPU: pod.Request(p.cpu), GPUs: int(gpus), Milli: int64(milli)}
	return berth.Success
}

// Filter judges a node by its GPUs. If there are too few, preemption cannot help; if too little
// is left of them, it can.
func (p *Plugin) Filter(_ berth.Pod, node berth.Node) berth.Status {
	if p.Demand.GPUs == 0 {
		return berth.Success
	}
	n := p.Node(node)
	switch {
	case n.N < p.Demand.GPUs:
		return berth.UnschedulableAndUnresolvable(p.tooFew)
	case !n.Fits(p.Demand):
		return berth.Unschedulable(p.tooLittle)
	}
	return berth.Success
}

// Take assigns devices to the pod: the first free ones for whole GPUs, or for a share the one
// that choose picks among those with Demand.Milli left.
func (p *Plugin) Take(pod berth.Pod, node berth.Node, choose func(n *Node) int) berth.Status {
	if status := p.Prepare(pod); status != berth.Success || p.Demand.GPUs == 0 {
		return status
	}
	n := p.Node(node)
	if !n.Fits(p.Demand) {
		return berth.Unschedulable(p.raced)
	}
	var text []byte
	if p.Demand.Shares() {
		text = strconv.AppendInt(nil, int64(choose(&n)), 10)
	} else {
		left := p.Demand.GPUs
		for i := 0; left > 0; i++ {
			if n.Free[i] == Whole {
				text = append(strconv.AppendInt(text, int64(i), 10), ',')
				left--
			}
		}
		text = text[:len(text)-1]
	}
	if !p.Annotate(DevicesAnnotation, string(text)) {
		return berth.Error(0)
	}
	return berth.Success
}
