package gang

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Hint retries a member when another one appears or is bound, when the member itself changed,
// and when there is more room: a new node, or a deleted pod outside the gang. A deleted member
// only frees room that the gang had before.
func (p *Gang) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	if event.Resource() != abi.EventPlacedPod && event.Resource() != abi.EventUnplacedPod {
		return berth.Queue
	}
	now, there := event.NewPod()
	old, was := event.OldPod()
	helps := false
	switch {
	case there && was:
		helps = now.UID() == pod.UID() && (old.Annotation(p.size) != now.Annotation(p.size) || p.of(old) != p.of(now))
	case there:
		helps = p.same(now, pod) && now.UID() != pod.UID()
	case was:
		helps = event.Resource() == abi.EventPlacedPod && !p.same(old, pod)
	}
	if helps {
		return berth.Queue
	}
	return berth.QueueSkip
}

// same reports whether two pods are in the same gang.
func (p *Gang) same(a, b berth.Pod) bool {
	return p.of(a) != berth.Absent && p.of(a) == p.of(b) && a.Namespace() == b.Namespace()
}
