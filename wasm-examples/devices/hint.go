package devices

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// Hint retries a pod when devices became free, when there are more of them, or when pods
// changed what they need.
func (p *Devices) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	helps := true
	switch event.Resource() {
	case abi.EventNode:
		helps = p.more(event, p.wanted(pod.Annotation(p.count)))
	case abi.EventPlacedPod, abi.EventUnplacedPod:
		old, _ := event.OldPod()
		now, there := event.NewPod()
		if there { // an update
			helps = old.Annotation(p.taken) != now.Annotation(p.taken) || old.Annotation(p.count) != now.Annotation(p.count)
		} else {
			helps = old.Annotation(p.taken) != berth.Absent || old.Annotation(p.count) != berth.Absent
		}
	}
	if helps {
		return berth.Queue
	}
	return berth.QueueSkip
}

// more reports whether a node has more devices than before, and enough.
func (p *Devices) more(event berth.Event, want int) bool {
	now, ok := event.NewNode()
	if !ok {
		return false
	}
	all := onNode(p.Text(now.Annotation(p.onNode)))
	if all.len() < want {
		return false
	}
	if old, ok := event.OldNode(); ok {
		before := onNode(p.Text(old.Annotation(p.onNode)))
		all.without(&before)
	}
	return all.len() > 0
}
