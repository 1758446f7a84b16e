package everypoint

import (
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
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
	for verb, rest := range steps(value) {
		part(key, verb, rest, queued)
	}
	if key.Room() == abi.MaxQueueKey {
		key.AppendInt64(parsed(strconv.ParseInt(value, 10, 64)))
		key.AppendInt64(queued.Time)
	}
}

// part appends a part of a key; nothing for a step that is none.
func part(key *berth.Key, verb, rest string, queued berth.Queued) {
	switch verb {
	case "u64":
		key.AppendUint64(parsed(strconv.ParseUint(rest, 10, 63)))
	case "-u64":
		key.AppendUint64Descending(parsed(strconv.ParseUint(rest, 10, 63)))
	case "i64":
		key.AppendInt64(parsed(strconv.ParseInt(rest, 10, 64)))
	case "-i64":
		key.AppendInt64Descending(parsed(strconv.ParseInt(rest, 10, 64)))
	case "bytes":
		key.AppendBytes([]byte(rest))
	case "-bytes":
		key.AppendBytesDescending([]byte(rest))
	case "text":
		key.AppendText(zeroes(rest))
	case "-text":
		key.AppendTextDescending(zeroes(rest))
	case "attempts":
		key.AppendUint64(uint64(queued.Attempts))
	}
}

// zeroes puts a zero byte for each `|`.
func zeroes(text string) string { return strings.ReplaceAll(text, "|", "\x00") }

// parsed is a number that was read; 0 if it is none.
func parsed[T int64 | uint64](n T, err error) T {
	if err != nil {
		return 0
	}
	return n
}

// Hint returns what the first step says.
func (p *EveryPoint) Hint(event berth.Event, pod berth.Pod) berth.HintResult {
	for verb, rest := range steps(p.Text(pod.Annotation(p.at.hint))) {
		if !concerns(event, verb, rest) || verb == "whole" && !p.wholes(event, pod) {
			return berth.QueueSkip
		}
		break
	}
	return berth.Queue
}

// concerns reports whether the pod of a step is to be tried again.
func concerns(event berth.Event, verb, rest string) bool {
	switch verb {
	case "skip":
		return false
	case "on":
		return object(event) == rest
	case "was":
		return old(event) == rest
	case "in":
		return event.Namespace() == rest
	case "is":
		resource, actions := word(rest)
		kind, bits := parsed(strconv.ParseUint(resource, 10, 32)), parsed(strconv.ParseUint(actions, 10, 32))
		return event.Is(berth.EventKind(kind), berth.EventAction(bits))
	}
	return true
}

// wholes reports whether there is a whole object of the pod that waits, and none of the pods of an event.
func (p *EveryPoint) wholes(event berth.Event, waiting berth.Pod) bool {
	for _, f := range []func() (berth.Pod, bool){event.NewPod, event.OldPod} {
		if pod, ok := f(); ok && p.whole(pod) != "none" {
			return false
		}
	}
	return p.whole(waiting) == waiting.Name()
}

// old returns the name of the old node or pod of an event; empty if there is none.
func old(event berth.Event) string {
	if node, ok := event.OldNode(); ok {
		return node.Name()
	}
	if pod, ok := event.OldPod(); ok {
		return pod.Name()
	}
	return ""
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
