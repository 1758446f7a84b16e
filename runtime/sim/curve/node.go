package curve

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

const whole = 1000 // milli-GPU of a device

// node is the free capacity of a node.
type node struct {
	model    string
	cpu      int64   // milli-CPU
	free     []int64 // milli-GPU of each device
	fragment int64   // as returned by measure
}

func newNode(object *v1.Node) *node {
	n := &node{model: object.Labels[input.GPUModelLabel], cpu: quantity.Milli(*object.Status.Allocatable.Cpu())}
	n.free = slices.Repeat([]int64{whole}, int(number(object.Annotations[input.GPUCountAnnotation])))
	return n
}

// number parses the trace's own annotations; 0 if there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// take takes milli from each of the devices, and reports whether they are as many as gpus and
// had enough.
func (n *node) take(devices string, gpus, milli int64) bool {
	if gpus == 0 {
		return true
	}
	names := strings.Split(devices, ",")
	for _, name := range names {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(n.free) || n.free[i] < milli {
			return false
		}
		n.free[i] -= milli
	}
	return int64(len(names)) == gpus
}

// measure returns the node's fragment: the milli-GPU that a typical pod cannot use, summed over
// all typical pods. If the pod does not fit, or requests no GPU, that is everything that is
// left; otherwise what is left on devices with too little for it.
func (n *node) measure(typical []input.TypicalPod) (sum int64) {
	for i := range typical {
		t := &typical[i]
		all, below, fit := int64(0), int64(0), int64(0)
		for _, free := range n.free {
			all += free
			if free < t.MilliGPU {
				below += free
			} else {
				fit++
			}
		}
		if t.GPUs == 0 || fit < t.GPUs || n.cpu < t.MilliCPU || t.Models != nil && !slices.Contains(t.Models, n.model) {
			below = all
		}
		sum += t.Count * below
	}
	return sum
}
