// Package devices is a plugin that assigns numbered devices of a node to pods, each to one pod
// at a time: accelerators, licences, ports of a switch.
package devices

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// The annotations.
const (
	// OnNode lists the devices of a node: a number, such as `8`, or numbers and ranges, such as
	// `0-3,6-7`.
	OnNode = "berth.dev/devices"
	// Count is how many devices a pod needs.
	Count = "berth.dev/device-count"
	// Taken lists the devices of a pod, as `0,1`. The plugin sets it.
	Taken = "berth.dev/devices-taken"
)

// The reasons for rejecting a node or a pod.
const (
	ReasonFree  = "node(s) had too few free devices"
	ReasonFew   = "node(s) had too few devices"
	ReasonCount = "the annotation " + Count + " is not a number from 1 to 256"
	ReasonRace  = "the node's devices were taken meanwhile"
)

// Devices is the plugin.
type Devices struct {
	berth.Base
	onNode                  berth.NodeAnnotation
	count, taken            berth.PodAnnotation
	free, few, wrong, raced berth.Reason

	want int // of this call's pod
}

var (
	_ berth.Hinter      = (*Devices)(nil)
	_ berth.PreFilterer = (*Devices)(nil)
	_ berth.Preparer    = (*Devices)(nil)
	_ berth.Filterer    = (*Devices)(nil)
	_ berth.Scorer      = (*Devices)(nil)
	_ berth.Reserver    = (*Devices)(nil)
	_ berth.Unreserver  = (*Devices)(nil)
)

// New returns the plugin.
func New() *Devices {
	b := berth.Load(Manifest)
	return &Devices{
		Base:   b,
		onNode: b.NodeAnnotation(OnNode), count: b.PodAnnotation(Count), taken: b.PodAnnotation(Taken),
		free: b.Reason(ReasonFree), few: b.Reason(ReasonFew), wrong: b.Reason(ReasonCount), raced: b.Reason(ReasonRace),
	}
}

// wanted returns how many devices a pod needs: 0 for none, −1 if the annotation is invalid.
func (p *Devices) wanted(count berth.ID) int {
	if count == berth.Absent {
		return 0
	}
	if n, ok := number(p.Text(count)); ok && n > 0 && n <= Most {
		return n
	}
	return -1
}

// PreFilter rejects a pod with an invalid count, and skips Filter for one that needs no
// devices. It publishes the count for other plugins.
func (p *Devices) PreFilter(pod berth.Pod, _ berth.Nodes) (*berth.Rows, berth.Status) {
	count := pod.Annotation(p.count)
	switch p.wanted(count) {
	case 0:
		return nil, berth.Skip
	case -1:
		return nil, berth.UnschedulableAndUnresolvable(p.wrong)
	}
	p.StateSet("claim", []byte(p.Text(count)))
	return nil, berth.Success
}

// Prepare reads the pod's count.
func (p *Devices) Prepare(pod berth.Pod) berth.Status {
	if p.want = p.wanted(pod.Annotation(p.count)); p.want <= 0 {
		return berth.Skip
	}
	return berth.Success
}

// have returns the devices of a node, and those that pods have.
func (p *Devices) have(node berth.Node) (all, taken set, unnumbered int) {
	all = onNode(p.Text(node.Annotation(p.onNode)))
	pods := node.Pods()
	for i := range pods.Len() {
		pod := pods.At(i)
		if numbers := pod.Annotation(p.taken); numbers != berth.Absent {
			of := parse(p.Text(numbers))
			taken.addAll(&of)
		} else if n := p.wanted(pod.Annotation(p.count)); n > 0 {
			// It is nominated to the node, or has no numbers yet.
			unnumbered += n
		}
	}
	return all, taken, unnumbered
}

// Filter judges a node by its free devices. Preemption can help if the node has enough devices.
func (p *Devices) Filter(_ berth.Pod, node berth.Node) berth.Status {
	all, taken, unnumbered := p.have(node)
	if all.len() < p.want {
		return berth.UnschedulableAndUnresolvable(p.few)
	}
	left := all
	left.without(&taken)
	if left.len()-unnumbered < p.want {
		return berth.Unschedulable(p.free)
	}
	return berth.Success
}

// Score packs: the fewer devices are left, the better, so that nodes with many free devices
// stay available for pods that need many.
func (p *Devices) Score(_ berth.Pod, node berth.Node) int64 {
	all, taken, unnumbered := p.have(node)
	total := int64(all.len())
	if total == 0 {
		return 0
	}
	left := all
	left.without(&taken)
	return 100 * min(max(total-int64(left.len()-unnumbered-p.want), 0), total) / total
}

// Reserve picks devices and writes their numbers to the pod. The next pod sees them
// immediately. They go to the API only with the binding.
func (p *Devices) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	want := p.wanted(pod.Annotation(p.count))
	if want <= 0 {
		return berth.Success
	}
	left, taken, _ := p.have(node)
	left.without(&taken)
	chosen, ok := left.pick(want)
	if !ok || !p.Annotate(Taken, chosen.text()) {
		return berth.Unschedulable(p.raced)
	}
	return berth.Success
}

// Unreserve has nothing to undo, because the host drops what Reserve wrote. It logs the
// devices, to help people who look for them.
func (p *Devices) Unreserve(pod berth.Pod, node berth.Node) berth.Status {
	if numbers := pod.Annotation(p.taken); numbers != berth.Absent {
		p.Log(berth.Info, "devices "+p.Text(numbers)+" of "+node.Name()+" are free again")
	}
	return berth.Success
}
