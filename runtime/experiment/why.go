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
	short map[types.UID]string // the same in short; of pending pods, too
}

func newReasons(other *side) *reasons {
	return &reasons{other, make(map[types.UID]string), make(map[types.UID]string)}
}

// attempted asks the last attempt for a pod.
func (r *reasons) attempted(a *report.Attempt, name func(row uint32) string) {
	if r.other == nil {
		return
	}
	if a.Code != abi.Success {
		r.short[a.UID] = a.InShort("", name)
		return
	}
	other := r.other.pods[a.UID]
	there := other.node
	if there == "" {
		there = other.evictedFrom
	}
	if there == a.Node {
		delete(r.why, a.UID)
		delete(r.short, a.UID)
		return
	}
	r.why[a.UID], r.short[a.UID] = a.RatherThan(there, name), a.InShort(there, name)
}
