package everypoint

import (
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// PreEnqueue returns the status.
func (p *EveryPoint) PreEnqueue(pod berth.Pod) berth.Status {
	return p.do(call{pod: pod}, pod.Annotation(p.at.preEnqueue))
}

// QueueKey orders by the number, then by time.
func (p *EveryPoint) QueueKey(pod berth.Pod, queued berth.Queued, key *berth.Key) {
	value := p.Text(pod.Annotation(p.at.queueKey))
	if value == "long" {
		key.AppendBytes(make([]byte, 65))
		return
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		n = 0
	}
	key.AppendInt64(n)
	key.AppendInt64(queued.Time)
}

// Hint returns what the first step says.
func (p *EveryPoint) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	for verb, rest := range steps(p.Text(pod.Annotation(p.at.hint))) {
		if verb == "skip" || verb == "on" && object(event) != rest {
			return berth.QueueSkip
		}
		break
	}
	return berth.Queue
}

// object returns the name of the event's object.
func object(event berth.Event) string {
	for _, f := range []func() (berth.Node, bool){event.NewNode, event.OldNode} {
		if node, ok := f(); ok {
			return node.Name()
		}
	}
	for _, f := range []func() (berth.Pod, bool){event.NewPod, event.OldPod} {
		if pod, ok := f(); ok {
			return pod.Name()
		}
	}
	return event.Name()
}
