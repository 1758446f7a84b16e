package experiment

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// candidates is how many of the best nodes of an attempt are known with their scores.
const candidates = 10

// reasons gathers why pods went where they went, and not where they went on the other side.
type reasons struct {
	other *side // may be nil
	why   map[types.UID]string
}

func newReasons(other *side) *reasons { return &reasons{other, make(map[types.UID]string)} }

// attempted asks an attempt that chose a node.
func (r *reasons) attempted(a *report.Attempt, name func(row uint32) string) {
	if a.Code != abi.Success || r.other == nil {
		return
	}
	other := r.other.pods[a.UID]
	there := other.node
	if there == "" {
		there = other.evictedFrom
	}
	if there == a.Node {
		delete(r.why, a.UID)
		return
	}
	r.why[a.UID] = a.RatherThan(there, name)
}
