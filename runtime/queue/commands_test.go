package queue_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

type command = func(w *world, a args) error

// commands is the vocabulary of scenario files. Besides what a command prints,
// the log shows what the queue asked and told while it ran.
func commands() map[string]command {
	return map[string]command{
		"add":              add,                                                                         // POD… [priority= nominated= label= cpu= gates=]
		"update":           update,                                                                      // POD… and the same options
		"delete":           remove,                                                                      // POD…
		"pop":              pop,                                                                         //
		"done":             done,                                                                        // POD
		"unschedulable":    unschedulable,                                                               // POD [rejectors=A,B] [pending=C]
		"fail":             fail,                                                                        // POD [rejectors=A]
		"hint":             hint,                                                                        // POD EVENT leave|queue|now: what the hints will answer
		"deaf":             deaf,                                                                        // EVENT: no plugin registered it
		"event":            event,                                                                       // EVENT [only=PODS]
		"retry":            func(w *world, a args) error { w.Retry(types.UID(a.names[0])); return nil }, // POD
		"activate":         activate,                                                                    // POD…
		"release":          func(w *world, a args) error { w.Release(a.names[0]); return nil },          // PLUGIN
		"gate":             gate,                                                                        // POD plugin= [reason=]: what the gates will answer
		"ungate":           ungate,                                                                      // POD…
		"let-go":           letGo,                                                                       // POD PLUGIN
		"regate":           func(w *world, _ args) error { w.Regate(); return nil },
		"advance":          advance,         // DURATION
		"tick":             tick,            //
		"deadline":         deadline,        //
		"nominate":         nominate,        // POD NODE, or POD for none
		"clear-nomination": clearNomination, // POD
		"nominations":      nominations,     //
		"reverse":          reverse,         // turn the order round, and Rebuild
		"state":            showState,       //
	}
}

func (w *world) build(name string, a args) (*state.Pod, error) {
	cpu, err := resource.ParseQuantity(or(a.options["cpu"], "1"))
	if err != nil {
		return nil, err
	}
	priority, err := strconv.Atoi(or(a.options["priority"], "0"))
	if err != nil {
		return nil, err
	}
	p := newPod(name, func(p *v1.Pod) {
		n := int32(priority)
		p.Spec.Priority = &n
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: cpu}}}}
		p.Status.NominatedNodeName = a.options["nominated"]
		if l := a.options["label"]; l != "" {
			p.Labels = map[string]string{"l": l}
		}
		for _, g := range a.list("gates") {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: g})
		}
	})
	w.latest[name] = p
	return p, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func add(w *world, a args) error {
	var pods []*state.Pod
	for _, name := range a.names {
		p, err := w.build(name, a)
		if err != nil {
			return err
		}
		pods = append(pods, p)
	}
	w.Add(pods...)
	return nil
}

func update(w *world, a args) error {
	for _, name := range a.names {
		old := w.latest[name]
		p, err := w.build(name, a)
		if err != nil {
			return err
		}
		w.Update(old, p)
	}
	return nil
}

func remove(w *world, a args) error {
	for _, name := range a.names {
		if !w.Delete(types.UID(name)) {
			fmt.Fprintf(&w.log, "%s is unknown\n", name)
		}
	}
	return nil
}

func pop(w *world, _ args) error {
	p, ok := w.Pop()
	if !ok {
		w.log.WriteString("nothing\n")
		return nil
	}
	w.out[p.Pod.Name] = p
	fmt.Fprintf(&w.log, "%s, attempt %d\n", p.Pod.Name, p.Attempts)
	return nil
}

func done(w *world, a args) error {
	w.Done(types.UID(a.names[0]))
	return nil
}

func unschedulable(w *world, a args) error { return w.giveBack(a, w.AddUnschedulable) }

func fail(w *world, a args) error { return w.giveBack(a, w.AddFailed) }

func (w *world) giveBack(a args, how func(*state.QueuedPod) bool) error {
	p := w.out[a.names[0]]
	if p == nil {
		return fmt.Errorf("the pod was never popped")
	}
	p.ClearRejectors()
	p.Rejectors, p.Pending = a.list("rejectors"), a.list("pending")
	if !how(p) {
		w.log.WriteString("ignored\n")
	}
	return nil
}

func hint(w *world, a args) error {
	answers := map[string]state.Requeue{"leave": state.Leave, "queue": state.AfterBackoff, "now": state.Immediately}
	answer, ok := answers[a.names[2]]
	if !ok {
		return fmt.Errorf("no answer %q", a.names[2])
	}
	w.hints[a.names[0]+" "+a.names[1]] = answer
	return nil
}

func deaf(w *world, a args) error {
	w.deaf[a.names[0]] = true
	return nil
}

func event(w *world, a args) error {
	e, ok := parseEvent(a.names[0])
	if !ok {
		return fmt.Errorf("no event %q", a.names[0])
	}
	var precheck func(*state.Pod) bool
	if only := a.list("only"); only != nil {
		precheck = func(p *state.Pod) bool { return slices.Contains(only, p.Name) }
	}
	w.Move(e, state.Object{}, precheck)
	return nil
}

func activate(w *world, a args) error {
	var uids []types.UID
	for _, name := range a.names {
		uids = append(uids, types.UID(name))
	}
	w.Activate(uids)
	return nil
}

func gate(w *world, a args) error {
	w.gates[a.names[0]] = queue.GateResult{Plugin: a.options["plugin"], Reason: a.options["reason"]}
	return nil
}

func ungate(w *world, a args) error {
	for _, name := range a.names {
		delete(w.gates, name)
	}
	return nil
}

func letGo(w *world, a args) error {
	w.Ungate(types.UID(a.names[0]), a.names[1])
	return nil
}

func advance(w *world, a args) error {
	d, err := time.ParseDuration(a.names[0])
	w.clock.Advance(d)
	return err
}

func tick(w *world, _ args) error {
	fmt.Fprintf(&w.log, "%d moved\n", w.Tick())
	return nil
}

func deadline(w *world, _ args) error {
	t, ok := w.NextDeadline()
	switch {
	case !ok:
		w.log.WriteString("never\n")
	case t.Equal(w.clock.Now()):
		w.log.WriteString("now\n")
	default:
		fmt.Fprintf(&w.log, "at %v\n", t.Sub(w.start))
	}
	return nil
}

func nominate(w *world, a args) error {
	w.Nominate(types.UID(a.names[0]), strings.Join(a.names[1:], ""))
	return nil
}

func clearNomination(w *world, a args) error {
	w.ClearNomination(types.UID(a.names[0]))
	return nil
}

func nominations(w *world, _ args) error {
	n := w.Nominations()
	fmt.Fprintf(&w.log, "%d nominated\n", n.Len())
	n.Nodes(func(node string, pods []*state.Pod) bool {
		fmt.Fprintf(&w.log, "  %s:", node)
		for _, p := range pods {
			fmt.Fprintf(&w.log, " %s", p.Name)
		}
		w.log.WriteString("\n")
		return true
	})
	return nil
}

func reverse(w *world, _ args) error {
	less := w.less
	w.less = func(a, b *state.QueuedPod) bool { return less(b, a) }
	w.Rebuild()
	return nil
}

func showState(w *world, _ args) error {
	fmt.Fprintf(&w.log, "%d waiting, %d events kept\n", w.Len(), w.InFlightEvents())
	for place, p := range w.All() {
		fmt.Fprintf(&w.log, "  %v %s attempts=%d", place, p.Pod.Name, p.Attempts)
		if p.Unschedulable > 0 || p.Errors > 0 {
			fmt.Fprintf(&w.log, " unschedulable=%d errors=%d", p.Unschedulable, p.Errors)
		}
		if !p.BackoffUntil.IsZero() {
			fmt.Fprintf(&w.log, " backoff=%v", p.BackoffUntil.Sub(w.start))
		}
		if len(p.Rejectors)+len(p.Pending) > 0 {
			fmt.Fprintf(&w.log, " rejectors=%v pending=%v", p.Rejectors, p.Pending)
		}
		if p.GatedBy != "" {
			fmt.Fprintf(&w.log, " gate=%s(%s)", p.GatedBy, p.GateReason)
		}
		if p.Flushed {
			w.log.WriteString(" flushed")
		}
		w.log.WriteString("\n")
	}
	return nil
}
