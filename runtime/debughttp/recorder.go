package debughttp

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
)

// namesKept is how many of the nodes that were rejected for the same reasons are
// kept by name.
const namesKept = 8

// Recorder keeps the last attempts. It hears of them on the scheduler's loop; others
// may ask it at any time.
type Recorder struct {
	clock clock.Clock
	mu    struct {
		sync.Mutex
		ring []record // the oldest at next, once it is full
		next int
		last map[types.NamespacedName]int // by pod, the place of its last attempt
	}
}

// record is a place of the ring.
type record struct {
	pod types.NamespacedName
	Explanation
}

// Explanation is the last try to place a pod.
type Explanation struct {
	Attempt *report.Attempt `json:"attempt"`
	// At is when the try was over.
	At time.Time `json:"at"`
	// Duration is how long it took, without binding.
	Duration time.Duration `json:"duration"`
	// Outcome is empty while a binding is on its way, and for a try that found no node.
	Outcome string `json:"outcome,omitempty"`
	// Took is how long it took with binding, once that is over.
	Took time.Duration `json:"took,omitempty"`
	// Plugins has the work of each plugin.
	Plugins []Work `json:"plugins"`
}

// Work is what a plugin did at a point.
type Work struct {
	Plugin   string        `json:"plugin"`
	Digest   string        `json:"digest,omitempty"` // of its module
	Point    string        `json:"point"`
	Calls    int64         `json:"calls"`
	Rows     int64         `json:"rows,omitempty"`
	Faults   int64         `json:"faults,omitempty"`
	Duration time.Duration `json:"duration"`
}

// Bound is the outcome of a pod that was bound.
const Bound = "bound"

// NewRecorder returns a recorder of the last n attempts. It takes the time from a
// clock, the machine's if that is nil.
func NewRecorder(n int, c clock.Clock) *Recorder {
	if c == nil {
		c = clock.Real{}
	}
	r := &Recorder{clock: c}
	r.mu.ring = make([]record, 0, n)
	r.mu.last = make(map[types.NamespacedName]int, n)
	return r
}

// Attempted implements scheduler.Observer.
func (r *Recorder) Attempted(a *report.Attempt, name func(row uint32) string) {
	if cap(r.mu.ring) == 0 {
		return
	}
	kept := a.Brief(name, namesKept)
	next := record{pod: types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}, Explanation: Explanation{
		Attempt: kept, At: r.clock.Now(), Duration: a.Duration, Plugins: works(nil, a.Timings),
	}}
	kept.Timings = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.mu.next
	if len(r.mu.ring) < cap(r.mu.ring) {
		r.mu.ring = append(r.mu.ring, next)
	} else {
		if old := r.mu.ring[at].pod; r.mu.last[old] == at {
			delete(r.mu.last, old)
		}
		r.mu.ring[at] = next
	}
	r.mu.last[next.pod] = at
	r.mu.next = (at + 1) % cap(r.mu.ring)
}

// Ended implements scheduler.Observer.
func (r *Recorder) Ended(e *report.Ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.mu.last[types.NamespacedName{Namespace: e.Namespace, Name: e.Pod}]
	if !ok || r.mu.ring[at].Attempt.Sequence != e.Sequence {
		return
	}
	x := &r.mu.ring[at].Explanation
	x.Took = e.Duration
	x.Plugins = works(x.Plugins, e.Timings)
	x.Outcome = Bound
	if e.Code != abi.Success {
		// The attempt is shared with who has asked already.
		a := *x.Attempt
		a.Code, a.Node, a.Message = e.Code, "", e.Message
		x.Attempt, x.Outcome = &a, e.Code.String()
	}
}

func works(out []Work, timings []report.Timing) []Work {
	out = out[:len(out):len(out)] // who has asked already keeps what it was
	for i := range timings {
		t := &timings[i]
		out = append(out, Work{
			Plugin: t.Plugin, Digest: t.Digest, Point: t.Point.String(),
			Calls: t.Calls, Rows: t.Rows, Faults: t.Faults, Duration: t.Duration,
		})
	}
	return out
}

// Last returns the last try to place a pod; false if it is too long ago or never was.
func (r *Recorder) Last(pod types.NamespacedName) (Explanation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.mu.last[pod]
	if !ok {
		return Explanation{}, false
	}
	return r.mu.ring[at].Explanation, true
}
