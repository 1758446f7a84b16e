package replay

import (
	"fmt"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/report"
)

// Difference is a decision that is not the recorded one.
type Difference struct {
	// Event is its number in the recording.
	Event int
	// Recorded and Now are nil if there was no decision.
	Recorded, Now *inbox.Decision
	// Attempt explains Now; may be nil.
	Attempt *report.Attempt
	// Kubernetes is as in Result.
	Kubernetes uint64
}

// Error implements error.
func (d *Difference) Error() string {
	text := fmt.Sprintf("event %d: recorded was %s; now it is %s", d.Event, words(d.Recorded), words(d.Now))
	if d.Kubernetes != hostplugins.Release {
		text += fmt.Sprintf(" (the recording is of an older version: what Kubernetes has changed since 1.%d without a feature gate is not undone)", d.Kubernetes)
	}
	return text
}

func words(d *inbox.Decision) string {
	switch {
	case d == nil:
		return "no decision"
	case d.Node != "":
		return fmt.Sprintf("pod %s to node %s (%s, hash %x)", d.Pod, d.Node, d.Code, d.Hash)
	}
	return fmt.Sprintf("pod %s to no node (%s, hash %x)", d.Pod, d.Code, d.Hash)
}

// same compares decisions, but not their texts.
func same(a, b inbox.Decision) bool {
	a.Texts = b.Texts
	return a == b
}

func (p *player) difference(recorded, now *inbox.Decision) *Difference {
	d := &Difference{Event: p.event(), Recorded: recorded, Now: now, Kubernetes: p.result.Kubernetes}
	if now != nil {
		d.Attempt = p.attempt
	}
	return d
}
