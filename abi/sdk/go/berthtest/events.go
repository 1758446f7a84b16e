package berthtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// event parses a hint line and the indented lines after it.
func (f *file) event(words []string) (Event, error) {
	f.t.Helper()
	if len(words) != 2 && len(words) != 4 {
		return Event{}, fmt.Errorf("hint needs a resource and actions, and a namespace (or -) and name unless it is about a node or a pod")
	}
	e := Event{Resource: words[0]}
	if fields.EventKind(e.Resource) == abi.EventOther {
		return e, unknown("resource", e.Resource, resources()...)
	}
	for _, name := range list(words[1]) {
		bit, ok := actionNames()[name]
		if !ok {
			return e, unknown("action", name, slices.Collect(maps.Keys(actionNames()))...)
		}
		if name == "Update" {
			bit = abi.ActionUpdateOther
		}
		e.Actions |= bit
	}
	if len(words) == 4 {
		e.Namespace, e.Name = strings.TrimPrefix(words[2], "-"), words[3]
	}
	for f.follows(" ") {
		words := Words(f.next())
		f.tellUnseen(strings.ToLower(e.Resource), words)
		if err := e.object(f.trial, words[0], words[1:]); err != nil {
			return e, err
		}
	}
	return e, nil
}

// object parses an old or a new object.
func (e *Event) object(t *Trial, which string, words []string) error {
	node, p := &e.NewNode, &e.NewPod
	switch which {
	case "new":
	case "old":
		node, p = &e.OldNode, &e.OldPod
	default:
		return fmt.Errorf("an event has old and new, not %s; leave out what it does not have", which)
	}
	switch e.Resource {
	case "Node":
		n, err := t.newNode(words)
		*node = &n
		return err
	case "Pod":
		read, _, err := t.pod(words)
		*p = &read
		return err
	}
	return fmt.Errorf("an event of %s has a name here, not objects", e.Resource)
}

// resources returns the resources that have a number (ABI-3.10).
func resources() (out []string) {
	for _, e := range fields.Events() {
		if e.Kind > abi.EventPlacedPod { // the resource of pods once
			out = append(out, e.Resource)
		}
	}
	return out
}
