package debughttp

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
)

// namesKept is the number of node names kept for each group of nodes that were rejected for the
// same reasons.
const namesKept = 8

// How much is kept of attempts, in bytes of texts. An attempt is large if it has more than
// smallRecord bytes; at most largeRecord bytes of it are kept. The newest large attempts are
// kept unshortened up to largeRecords bytes in total, and older ones are shortened. Reasons
// come from plugins, which must not control how much memory the scheduler takes.
const (
	smallRecord  = 6 << 10
	largeRecord  = 1 << 20
	largeRecords = 16 << 20
)

// Recorder keeps the last attempts. The scheduler's loop calls its observer methods; Last may
// be called from any goroutine.
type Recorder struct {
	now  func() time.Time
	most int // places in the ring
	mu   struct {
		sync.Mutex
		ring []record // once it is full, the oldest is at next
		next int
		last map[types.NamespacedName]int // the place of a pod's last attempt
		// large are the places of large attempts, the oldest first. largeSize is their total
		// size.
		large     []large
		largeSize int
		// plugins are all plugins that were ever called, with their indices.
		plugins []pluginName
		known   map[pluginName]uint32
	}
}

// large is the place of an attempt, and its size when it was recorded.
type large struct{ at, size int }

// record is one place in the ring. The work of plugins is stored compactly, because there are
// some thirty entries per pod.
type record struct {
	pod types.NamespacedName
	Explanation
	works []work
}

// work is a Work with its strings in a table.
type work struct {
	plugin   uint32 // index in Recorder.mu.plugins
	rows     uint32
	reused   uint32
	calls    uint32
	faults   uint16
	point    abi.Point
	duration time.Duration
}

// pluginName is a plugin and its module.
type pluginName struct{ name, module, digest string }

// Explanation is the last attempt to place a pod.
type Explanation struct {
	Attempt *report.Attempt `json:"attempt"`
	// At is when the attempt ended.
	At time.Time `json:"at"`
	// Duration is how long the attempt took, without binding.
	Duration time.Duration `json:"duration"`
	// Outcome is empty while the pod is being bound, and for an attempt that found no node.
	Outcome string `json:"outcome,omitempty"`
	// Took is how long the attempt took with binding, once it is bound.
	Took time.Duration `json:"took,omitempty"`
	// Plugins has the work of each plugin.
	Plugins []Work `json:"plugins"`
}

// Work is what a plugin did at a point.
type Work struct {
	Profile  string        `json:"profile,omitempty"` // empty in an attempt, which is of one
	Plugin   string        `json:"plugin"`
	Module   string        `json:"module,omitempty"` // name and version, for module plugins
	Digest   string        `json:"digest,omitempty"`
	Point    string        `json:"point"`
	Calls    int64         `json:"calls"`
	Rows     int64         `json:"rows,omitempty"`
	Reused   int64         `json:"reused,omitempty"`
	Faults   int64         `json:"faults,omitempty"`
	Duration time.Duration `json:"duration"`
}

// Bound is the outcome of a bound pod.
const Bound = "bound"

// NewRecorder returns a recorder of the last n attempts, with times of now. Nil means the real time.
func NewRecorder(n int, now func() time.Time) *Recorder {
	if now == nil {
		now = clock.Real{}.Now
	}
	r := &Recorder{now: now}
	r.most = n
	r.mu.last = make(map[types.NamespacedName]int)
	r.mu.known = make(map[pluginName]uint32)
	return r
}

// Attempted implements scheduler.Observer.
func (r *Recorder) Attempted(a *report.Attempt, name func(row uint32) string) {
	if r.most == 0 {
		return
	}
	kept := a.Brief(name, namesKept).Shortened(largeRecord)
	kept.Timings = nil
	next := record{
		pod:         types.NamespacedName{Namespace: a.Namespace, Name: a.Pod},
		Explanation: Explanation{Attempt: kept, At: r.now(), Duration: a.Duration},
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next.works = r.add(nil, a.Timings)
	at := r.mu.next
	if len(r.mu.ring) < r.most {
		r.mu.ring = append(r.mu.ring, next)
	} else {
		if old := r.mu.ring[at].pod; r.mu.last[old] == at {
			delete(r.mu.last, old)
		}
		if len(r.mu.large) > 0 && r.mu.large[0].at == at {
			r.shorten()
		}
		r.mu.ring[at] = next
	}
	r.grow(at)
	r.mu.last[next.pod] = at
	r.mu.next = (at + 1) % r.most
}

// grow registers the attempt at a place if it is large, and shortens older ones to make room.
func (r *Recorder) grow(at int) {
	size := r.mu.ring[at].Attempt.Size()
	if size <= smallRecord {
		return
	}
	r.mu.large = append(r.mu.large, large{at, size})
	r.mu.largeSize += size
	for r.mu.largeSize > largeRecords {
		r.shorten()
	}
}

// shorten shortens the oldest large attempt. It changes a copy, because callers of Last may
// have the original.
func (r *Recorder) shorten() {
	oldest := r.mu.large[0]
	r.mu.large = r.mu.large[1:]
	r.mu.largeSize -= oldest.size
	x := &r.mu.ring[oldest.at]
	x.Attempt = x.Attempt.Shortened(smallRecord)
}

// Ended implements scheduler.Observer.
func (r *Recorder) Ended(e *report.Ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.mu.last[types.NamespacedName{Namespace: e.Namespace, Name: e.Pod}]
	if !ok || r.mu.ring[at].Attempt.Sequence != e.Sequence {
		return
	}
	x := &r.mu.ring[at]
	x.Took = e.Duration
	x.works = r.add(x.works, e.Timings)
	x.Outcome = Bound
	if e.Code != abi.Success {
		// Callers of Last may have the attempt: change a copy.
		a := *x.Attempt
		a.Code, a.Node, a.Message = e.Code, "", plain.Lines(e.Message, report.MaxMessage)
		x.Attempt, x.Outcome = &a, e.Code.String()
	}
}

// add appends the work of plugins, in a new array.
func (r *Recorder) add(before []work, timings []report.Timing) []work {
	out := make([]work, 0, len(before)+len(timings))
	out = append(out, before...)
	for i := range timings {
		t := &timings[i]
		name := pluginName{t.Plugin, t.Module, t.Digest}
		at, ok := r.mu.known[name]
		if !ok {
			at = uint32(len(r.mu.plugins))
			r.mu.plugins = append(r.mu.plugins, name)
			r.mu.known[name] = at
		}
		out = append(out, work{
			plugin: at, point: t.Point, duration: t.Duration,
			calls: uint32(min(t.Calls, math.MaxUint32)), rows: uint32(min(t.Rows, math.MaxUint32)), reused: uint32(min(t.Reused, math.MaxUint32)), faults: uint16(min(t.Faults, math.MaxUint16)),
		})
	}
	return out
}

// Last returns the last attempt to place a pod; false if there is none in the ring.
func (r *Recorder) Last(pod types.NamespacedName) (Explanation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.mu.last[pod]
	if !ok {
		return Explanation{}, false
	}
	x := &r.mu.ring[at]
	return r.full(x), true
}

// Attempt returns the attempt of a number; false if it is not in the ring.
func (r *Recorder) Attempt(sequence uint64) (Explanation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.mu.ring {
		if x := &r.mu.ring[i]; x.Attempt.Sequence == sequence {
			return r.full(x), true
		}
	}
	return Explanation{}, false
}

// full returns an attempt with the work of plugins.
func (r *Recorder) full(x *record) Explanation {
	out := x.Explanation
	out.Plugins = make([]Work, len(x.works))
	for i, w := range x.works {
		name := r.mu.plugins[w.plugin]
		out.Plugins[i] = Work{
			Plugin: name.name, Module: name.module, Digest: name.digest, Point: w.point.String(),
			Calls: int64(w.calls), Rows: int64(w.rows), Reused: int64(w.reused), Faults: int64(w.faults), Duration: w.duration,
		}
	}
	return out
}

// maxLine is the longest message of a Decision, in bytes.
const maxLine = 1 << 10

// Recent returns at most most attempts for which keep is true, the latest first. keep must not call r.
func (r *Recorder) Recent(most int, keep func(*Explanation) bool) []Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Decision{}
	for i := range r.mu.ring {
		x := &r.mu.ring[(r.mu.next+2*len(r.mu.ring)-1-i)%len(r.mu.ring)].Explanation
		if len(out) == most {
			break
		}
		if !keep(x) {
			continue
		}
		a := x.Attempt
		out = append(out, Decision{
			Sequence: a.Sequence, Namespace: a.Namespace, Pod: a.Pod, Profile: a.Profile, Try: a.Try, At: x.At, Duration: x.Duration, Took: x.Took,
			Outcome: x.Outcome, Node: a.Node, Nominated: a.Nominated, Message: plain.Lines(a.Message, maxLine), Nodes: a.Nodes, Feasible: a.Feasible,
		})
	}
	return out
}
