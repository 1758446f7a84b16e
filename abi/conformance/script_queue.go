package conformance

import (
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// dutyAlone is about calls that have a list of pods.
const dutyAlone = "a pod in a list is answered as it would be alone"

// queued calls pre_enqueue, queue_key and hint.
func (d *drive) queued(ctx context.Context) error {
	for _, p := range []abi.Point{abi.PreEnqueue, abi.QueueSort, abi.Hint} {
		if !d.has(p) {
			continue
		}
		about := []*Event{nil}
		if p == abi.Hint {
			about = d.s.events
		}
		for n, event := range about {
			if err := d.asked(ctx, p, n, event); err != nil {
				return err
			}
		}
	}
	return nil
}

// asked calls a point about the pods of the scene, and hint about its n-th event, but about a few pods only after the first.
func (d *drive) asked(ctx context.Context, p abi.Point, n int, event *Event) error {
	list := make([]int, len(d.s.pods))
	if n > 0 {
		list = list[:min(len(list), 6)]
	}
	for i := range list {
		list[i] = i
	}
	if d.w.shuffled {
		list = d.random.Perm(len(list))
	}
	r, answers, err := d.listed(ctx, p, event, list)
	if err != nil {
		return err
	}
	if d.result(p, r); answers == nil {
		return nil
	}
	for i := range list {
		of := d.s.pods[i].Metadata.Name
		if n > 0 {
			of += fmt.Sprintf(", event %d", n)
		}
		d.say(p, of, answers[i].said)
		d.said[fmt.Sprintf("%s of %s", p, of)] = answers[i].why
	}
	return d.alone(ctx, p, event, answers)
}

// ofPod is the answer for a pod, and what it gives as reasons.
type ofPod struct{ said, why string }

// listed calls a point about pods of the scene, and an event in a hint. It returns their answers, by their place in the
// scene; nil if the call as a whole failed.
func (d *drive) listed(ctx context.Context, p abi.Point, event *Event, list []int) (*reply, map[int]ofPod, error) {
	a := &ask{point: p, event: event}
	for _, i := range list {
		a.pods, a.queue = append(a.pods, d.s.pods[i]), append(a.queue, d.s.queue[i])
	}
	r, err := d.call(ctx, a)
	if err != nil || r == nil || r.code != abi.Success {
		return r, nil, err
	}
	answers := map[int]ofPod{}
	for at, i := range list {
		switch p {
		case abi.QueueSort:
			answers[i] = ofPod{said: fmt.Sprintf("%x", r.call.Keys[at])}
		case abi.Hint:
			answers[i] = ofPod{said: abi.Code(r.call.Codes[at]).String()}
		default:
			answers[i] = ofPod{abi.Code(r.call.Codes[at]).String(), reasonsOf(r.call, at)}
		}
	}
	return r, answers, nil
}

// alone calls the point about the first, the last and some pods between of a list that was answered in order, in the first
// way only: the others are compared with that.
func (d *drive) alone(ctx context.Context, p abi.Point, event *Event, answers map[int]ofPod) error {
	if d.w.duty != "" || len(answers) < 2 {
		return nil
	}
	last, parts := len(answers)-1, 2
	if last > 64 { // few answers may be others than the usual one
		parts = 8
	}
	for part := range parts + 1 {
		i := part * last / parts
		_, alone, err := d.listed(ctx, p, event, []int{i})
		if err != nil || alone == nil {
			return err
		}
		wrong, listed, one := "", answers[i], alone[i]
		switch what := fmt.Sprintf("%s: %s of %s", d.s.name, p, d.s.pods[i].Metadata.Name); {
		case listed.said != one.said:
			wrong = fmt.Sprintf("%s is %s in a list of %d pods, and %s alone", what, shown(wire.PointName(p), listed.said), len(answers), shown(wire.PointName(p), one.said))
		case listed.why != one.why && listed.why != "" && one.why != "": // who exceeds a limit leaves out reasons (ABI-3.8)
			wrong = fmt.Sprintf("%s has the reason %q in a list of %d pods, and %q alone", what, listed.why, len(answers), one.why)
		}
		d.k.looked(dutyAlone, wrong)
	}
	return nil
}
