// Package gpushare is a plugin that shares GPUs of HAMi between pods: it gives containers fractions of their memory and cores. It decides as
// HAMi's scheduler does for NVIDIA's GPUs (Project-HAMi/HAMi, pkg/scheduler and pkg/device/nvidia), without an extender and a lock.
package gpushare

import (
	_ "embed"
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// The annotations that the plugin writes, besides those of the manifest that it reads.
const (
	allocated = "hami.io/vgpu-devices-allocated"
	allocate  = "hami.io/vgpu-devices-to-allocate"
	onNode    = "hami.io/vgpu-node"
	bindTime  = "hami.io/bind-time"
	bindPhase = "hami.io/bind-phase"
)

// GPUShare is the plugin.
type GPUShare struct {
	berth.Base
	register, cordon berth.NodeAnnotation
	taken            berth.PodAnnotation
	wishes           wishes
	none, few, free  berth.Reason
	starting, wrong  berth.Reason

	// The configuration.
	spreadNodes, packGPUs, oneAtATime bool

	memo memo
	pod  demand    // of this call's pod
	gpus []gpu     // of the node that is looked at
	kept []gpu     // the same before an init container
	out  []portion // what the pod gets, in the order of its containers
}

var (
	_ berth.Configurer = (*GPUShare)(nil)
	_ berth.Preparer   = (*GPUShare)(nil)
	_ berth.Filterer   = (*GPUShare)(nil)
	_ berth.Scorer     = (*GPUShare)(nil)
	_ berth.Reserver   = (*GPUShare)(nil)
)

// New returns the plugin.
func New() *GPUShare {
	b := berth.Load(Manifest)
	return &GPUShare{
		Base: b, register: b.NodeAnnotation("hami.io/node-nvidia-register"), cordon: b.NodeAnnotation("hami.io/device-cordon"),
		taken: b.PodAnnotation(allocated), wishes: newWishes(&b), oneAtATime: true,
		none:     b.Reason("node(s) had no GPUs"),
		few:      b.Reason("node(s) had too few GPUs that suit the pod"),
		free:     b.Reason("node(s) had too little left of their GPUs"),
		starting: b.Reason("node(s) were starting another pod with GPUs"),
		wrong:    b.Reason("the pod requests an amount of GPUs that no node can have"),
	}
}

// Configure reads the policies.
func (p *GPUShare) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("nodes", "gpus", "oneAtATime")
	p.spreadNodes = c.Get("nodes").Text("binpack") == "spread"
	p.packGPUs = c.Get("gpus").Text("spread") == "binpack"
	p.oneAtATime = c.Get("oneAtATime").Bool(true)
	return c.Err()
}

// Prepare reads what the pod needs.
func (p *GPUShare) Prepare(pod berth.Pod) berth.Status {
	switch p.read(pod) {
	case nothing:
		return berth.Skip
	case impossible:
		return berth.UnschedulableAndUnresolvable(p.wrong)
	}
	return berth.Success
}

// Filter rejects nodes whose GPUs have too little left. Pods that leave can only help if the pod would fit the unused GPUs.
func (p *GPUShare) Filter(_ berth.Pod, node berth.Node) berth.Status {
	if p.oneAtATime && p.starts(node) {
		return berth.UnschedulableAndUnresolvable(p.starting) // it runs soon, so that no pod is worth evicting
	}
	if !p.look(node) {
		return berth.UnschedulableAndUnresolvable(p.none)
	}
	if p.place() {
		return berth.Success
	}
	for i := range p.gpus {
		p.gpus[i].shares, p.gpus[i].usedMemory, p.gpus[i].usedCores = 0, 0, 0
	}
	if p.place() {
		return berth.Unschedulable(p.free)
	}
	return berth.UnschedulableAndUnresolvable(p.few)
}

// starts reports whether a pod with GPUs is on the node that does not run yet. HAMi's device plugin gives what it allocates to the first
// such pod that it finds on its node, so that two could be mixed up.
func (p *GPUShare) starts(node berth.Node) bool {
	pods := node.Pods()
	for i := range pods.Len() {
		if pod := pods.At(i); !pod.Running() && pod.Annotation(p.taken) != berth.Absent {
			return true
		}
	}
	return false
}

// Score is how much of the node's GPUs is used, in percent: the mean of shares, cores and memory; or of what is not, to spread pods.
func (p *GPUShare) Score(_ berth.Pod, node berth.Node) int64 {
	if !p.look(node) {
		return 0
	}
	var all, used [3]int64
	for i := range p.gpus {
		g := &p.gpus[i]
		all[0], all[1], all[2] = all[0]+g.count, all[1]+g.cores, all[2]+g.memory
		used[0], used[1], used[2] = used[0]+g.shares, used[1]+g.usedCores, used[2]+g.usedMemory
	}
	percent := int64(0)
	for i := range all {
		if all[i] <= 0 {
			return 0
		}
		percent += min(100, used[i]*100/all[i])
	}
	if percent /= 3; p.pod.spreads(p.spreadNodes) {
		return 100 - percent
	}
	return percent
}

// Reserve picks GPUs and writes them to the pod, where the next pod sees them at once, and HAMi's device plugin once the pod is bound.
func (p *GPUShare) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	if p.read(pod) != needs {
		return berth.Success
	}
	if p.look(node) && p.place() {
		text := p.text()
		if p.Annotate(allocated, text) && p.Annotate(allocate, text) && p.Annotate(onNode, node.Name()) &&
			p.Annotate(bindTime, strconv.FormatInt(pod.Now(), 10)) && p.Annotate(bindPhase, "allocating") {
			return berth.Success
		}
	}
	return berth.Unschedulable(p.free)
}
