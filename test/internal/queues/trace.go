// Package queues drives Berth's scheduling queue, with the gates and hints of a
// pipeline, and kube-scheduler's PriorityQueue with the same random operations at
// the same times, and compares where every pod is after each.
package queues

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Name is the name of this comparison among the others.
const Name = "Queue"

// Trace is a sequence of operations on a queue.
type Trace struct {
	Subject    string        `json:"subject"`
	Found      []string      `json:"found,omitempty"`
	MaxBackoff time.Duration `json:"maxBackoff"`
	// Ticks makes Berth's queue tick whenever kube-scheduler's goroutines run, not only before
	// an operation.
	Ticks bool `json:"ticks,omitempty"`
	Ops   []Op `json:"ops"`
}

// Op is one operation. An operation that does not apply to the current state of the queue does
// nothing.
type Op struct {
	// Do is add, update, delete, pop, done, return, event, activate or gate; all
	// wait first, for After.
	Do string `json:"do"`
	// Salt is what hints depend on besides plugin and pod.
	Salt  int           `json:"salt"`
	After time.Duration `json:"after,omitempty"`
	// Pod is the name of a pod; for a return, done or pop, the n-th that is out.
	Pod string `json:"pod,omitempty"`
	N   int    `json:"n,omitempty"`
	// For a pod that is added or updated.
	Priority  int32  `json:"priority,omitempty"`
	Label     string `json:"label,omitempty"`
	Nominated string `json:"nominated,omitempty"`
	Gated     bool   `json:"gated,omitempty"`
	// By is the plugin that gates a pod from now on.
	By string `json:"by,omitempty"`
	// For a return: the plugins that rejected it, and the nomination that follows.
	Rejectors []string `json:"rejectors,omitempty"`
	Pending   []string `json:"pending,omitempty"`
	Nominate  string   `json:"nominate,omitempty"` // "" for none, "status", or "to NODE"
	// For an event: its name, and the highest priority of pods that it applies to.
	Event string `json:"event,omitempty"`
	Below *int32 `json:"below,omitempty"`
}

// Draw draws a trace.
func Draw(seed uint64, n int) *Trace {
	r := rand.New(rand.NewPCG(seed^0x51ce, uint64(n)))
	t := &Trace{Subject: Name, MaxBackoff: pick(r, 10*time.Second, 10*time.Second, time.Hour, 0), Ticks: n%2 == 0}
	pods := 0
	known := func() string { return fmt.Sprintf("p%d", 1+r.IntN(max(1, pods))) }
	describe := func(op *Op) {
		op.Priority, op.Label = int32(r.IntN(3)), pick(r, "0", "1")
		if r.IntN(3) == 0 {
			op.Nominated = pick(r, "n0", "n1")
		}
		op.Gated = r.IntN(4) == 0
	}
	for i := range 40 + r.IntN(160) {
		op := Op{Salt: i, After: time.Duration(1+r.IntN(50)) * time.Millisecond}
		switch r.IntN(15) {
		case 0, 1:
			pods++
			op.Do, op.Pod = "add", fmt.Sprintf("p%d", pods)
			describe(&op)
			if r.IntN(4) == 0 {
				op.By = pick(r, "G", "H")
			}
		case 2:
			op.Do, op.Pod = "update", known()
			describe(&op)
		case 3:
			if r.IntN(3) > 0 {
				continue
			}
			op.Do, op.Pod = "delete", known()
		case 4, 5, 6:
			op.Do = "pop"
		case 7:
			if r.IntN(2) == 0 {
				continue
			}
			op.Do, op.N = "done", r.IntN(8)
		case 8, 9, 10:
			op.Do, op.N = "return", r.IntN(8)
			for _, name := range []string{"A", "B"} {
				switch r.IntN(4) {
				case 0, 1:
					op.Rejectors = append(op.Rejectors, name)
				case 2:
					op.Pending = append(op.Pending, name)
				}
			}
			op.Nominate = pick(r, "to ", "to n0", "to n1", "status", "status", "", "")
		case 11, 12:
			op.Do, op.Event = "event", pick(r, eventNames()...)
			if r.IntN(3) == 0 {
				below := int32(r.IntN(3))
				op.Below = &below
			}
		case 13:
			op.Do, op.Pod = pick(r, "activate", "gate"), known()
			if op.Do == "gate" {
				op.By = pick(r, "", "", "G", "H")
			}
		case 14:
			op.Do = "wait"
			op.After = pick(r, time.Second, 3*time.Second, 40*time.Second, 400*time.Second)
		}
		t.Ops = append(t.Ops, op)
	}
	return t
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
