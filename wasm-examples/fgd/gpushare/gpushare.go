// Package gpushare is what the GPU plugins of this folder have in common: who has
// which share of which GPU is written in annotations, a pod gets one share of one
// GPU or some whole GPUs, and devices are given out in Reserve. Plugins differ in
// how they rate nodes, and in the device that a share is taken from.
package gpushare

import (
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// The annotations.
const (
	// CountAnnotation is the number of GPUs that a node has, or a pod asks for.
	CountAnnotation = "berth.dev/gpu-count"
	// MilliAnnotation is what a pod asks for of each of its GPUs, in thousandths.
	MilliAnnotation = "berth.dev/gpu-milli"
	// DevicesAnnotation is the GPUs that a pod was given, as `0` or `0,1`. Reserve
	// writes it.
	DevicesAnnotation = "berth.dev/gpu-devices"
)

const (
	// Whole is all of a GPU, in milli-GPU.
	Whole = 1000
	// Most is the most GPUs of a node that are given out.
	Most = 16
)

// The reasons why a node or a pod is refused.
const (
	ReasonFew   = "node(s) had too few GPUs"
	ReasonFree  = "node(s) had too little left of each GPU"
	ReasonWrong = "the annotations " + CountAnnotation + " and " + MilliAnnotation + " are not one share of a GPU, or up to 16 whole ones"
	ReasonRace  = "the node's GPUs were taken meanwhile"
)

// Demand is what a pod asks for.
type Demand struct {
	// CPU is milli-CPU.
	CPU int64
	// GPUs is a number, and Milli the milli-GPU of each: both 0 for none; less than
	// Whole of one, or all of some.
	GPUs  int
	Milli int64
}

// Shares reports that the pod asks for a share of a GPU, which others may share.
func (d Demand) Shares() bool { return d.GPUs == 1 && d.Milli < Whole }

// Plugin is what the plugins embed.
type Plugin struct {
	berth.Base
	cpu                             berth.Resource
	has                             berth.NodeAnnotation
	count, milli, devices           berth.PodAnnotation
	tooFew, tooLittle, wrong, raced berth.Reason
	values                          values

	// Demand is that of this call's pod.
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

// Prepare looks at the pod.
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

// Filter judges a node by its GPUs: by their number for good, by what is left of
// them until a pod goes.
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

// Take gives the pod its devices: the first whole ones that are free, or the one
// that choose picks for a share, of those with Demand.Milli left.
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
