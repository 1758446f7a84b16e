package queue_test

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// podOptions are the options of a pod; the CPU is a quantity.
const podOptions = "[priority=INT] [nominated=NODE] [label=VALUE] [cpu=QUANTITY] [gates=NAME,…]"

// commands are the commands of scenarios. The output also has a log of the queue's callbacks.
func (w *world) commands() scenario.Commands {
	return scenario.Commands{
		"add POD… " + podOptions:    w.add,
		"update POD… " + podOptions: scenario.Each(w.update),
		"delete POD…":               scenario.Each(w.remove),
		"pop":                       w.pop,
		"done POD":                  func(a scenario.Args) error { w.Done(types.UID(a.Name(0))); return nil },
		"unschedulable POD [rejectors=PLUGIN,…] [pending=PLUGIN,…] [retry=DURATION]": func(a scenario.Args) error { return w.giveBack(a, w.AddUnschedulable) },
		"fail POD [rejectors=PLUGIN,…]":                                              func(a scenario.Args) error { return w.giveBack(a, w.AddFailed) },
		"hint POD EVENT leave|queue|now":                                             w.hint,          // what the hints will answer
		"deaf EVENT":                                                                 w.notRegistered, // by any plugin
		"event EVENT [only=POD,…]":                                                   w.event,
		"retry POD":                                                                  func(a scenario.Args) error { w.Retry(types.UID(a.Name(0))); return nil },
		"activate POD…":                                                              w.activate,
		"release PLUGIN":                                                             func(a scenario.Args) error { w.Release(a.Name(0)); return nil },
		"gate POD plugin=PLUGIN [reason=TEXT] [retry=DURATION]":                      w.gate, // what the gates will answer
		"ungate POD…":                                                                scenario.Each(func(pod string, _ scenario.Args) error { delete(w.gates, pod); return nil }),
		"let-go POD PLUGIN":                                                          func(a scenario.Args) error { w.Ungate(types.UID(a.Name(0)), a.Name(1)); return nil },
		"advance DURATION":                                                           func(a scenario.Args) error { w.clock.Advance(scenario.Duration(a.Name(0))); return nil },
		"tick":                                                                       func(scenario.Args) error { w.log.Printf("%d moved", w.Tick()); return nil },
		"deadline":                                                                   w.deadline,
		"nominate POD [NODE]":                                                        func(a scenario.Args) error { w.Nominate(types.UID(a.Name(0)), a.Name(1)); return nil },
		"clear-nomination POD":                                                       func(a scenario.Args) error { w.ClearNomination(types.UID(a.Name(0))); return nil },
		"nominations":                                                                w.nominations,
		"reverse":                                                                    w.reverse, // reverse the order, and Rebuild
		"state":                                                                      w.state,
	}
}

func (w *world) build(name string, a scenario.Args) (*state.Pod, error) {
	cpu, err := resource.ParseQuantity(or(a.Options["cpu"], "1"))
	if err != nil {
		return nil, err
	}
	p := newPod(name, func(p *v1.Pod) {
		n := int32(scenario.Int(a.Options["priority"]))
		p.Spec.Priority = &n
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: cpu}}}}
		p.Status.NominatedNodeName = a.Options["nominated"]
		if l := a.Options["label"]; l != "" {
			p.Labels = map[string]string{"l": l}
		}
		for _, g := range a.List("gates") {
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

func (w *world) add(a scenario.Args) error {
	var pods []*state.Pod
	for _, name := range a.Names {
		p, err := w.build(name, a)
		if err != nil {
			return err
		}
		pods = append(pods, p)
	}
	w.Add(pods...)
	return nil
}

func (w *world) update(name string, a scenario.Args) error {
	old := w.latest[name]
	p, err := w.build(name, a)
	if err != nil {
		return err
	}
	w.Update(old, p)
	return nil
}

func (w *world) remove(name string, _ scenario.Args) error {
	if !w.Delete(types.UID(name)) {
		w.log.Printf("unknown pod %s", name)
	}
	return nil
}

func (w *world) pop(scenario.Args) error {
	p, ok := w.Pop()
	if !ok {
		w.log.Printf("nothing")
		return nil
	}
	w.out[p.Pod.Name] = p
	w.log.Printf("%s, attempt %d", p.Pod.Name, p.Attempts)
	return nil
}

func (w *world) giveBack(a scenario.Args, how func(*state.QueuedPod) bool) error {
	p := w.out[a.Name(0)]
	if p == nil {
		return fmt.Errorf("the pod was never popped")
	}
	p.ClearRejectors()
	p.Rejectors, p.Pending = a.List("rejectors"), a.List("pending")
	if after := a.Options["retry"]; after != "" {
		p.RetryAt, p.RetryBy = w.clock.Now().Add(scenario.Duration(after)), strings.Join(p.Rejectors, ",")
	}
	if !how(p) {
		w.log.Printf("ignored")
	}
	return nil
}

func (w *world) hint(a scenario.Args) error {
	answers := map[string]state.Requeue{"leave": state.Leave, "queue": state.AfterBackoff, "now": state.Immediately}
	if _, ok := parseEvent(a.Name(1)); !ok {
		return fmt.Errorf("no event %q", a.Name(1))
	}
	w.hints[a.Name(0)+" "+a.Name(1)] = answers[a.Name(2)]
	return nil
}

func (w *world) notRegistered(a scenario.Args) error {
	if _, ok := parseEvent(a.Name(0)); !ok {
		return fmt.Errorf("no event %q", a.Name(0))
	}
	w.deaf[a.Name(0)] = true
	return nil
}

func (w *world) event(a scenario.Args) error {
	e, ok := parseEvent(a.Name(0))
	if !ok {
		return fmt.Errorf("no event %q", a.Name(0))
	}
	var precheck func(*state.Pod) bool
	if only := a.List("only"); only != nil {
		precheck = func(p *state.Pod) bool { return slices.Contains(only, p.Name) }
	}
	w.Move(e, state.Object{}, precheck)
	return nil
}

func (w *world) activate(a scenario.Args) error {
	var uids []types.UID
	for _, name := range a.Names {
		uids = append(uids, types.UID(name))
	}
	w.Activate(uids)
	return nil
}

func (w *world) gate(a scenario.Args) error {
	w.gates[a.Name(0)] = queue.GateResult{Plugin: a.Options["plugin"], Reason: a.Options["reason"]}
	if after := a.Options["retry"]; after != "" {
		g := w.gates[a.Name(0)]
		g.RetryAfter = scenario.Duration(after)
		w.gates[a.Name(0)] = g
	}
	return nil
}

func (w *world) deadline(scenario.Args) error {
	t, ok := w.NextDeadline()
	switch {
	case !ok:
		w.log.Printf("never")
	case t.Equal(w.clock.Now()):
		w.log.Printf("now")
	default:
		w.log.Printf("at %v", t.Sub(w.start))
	}
	return nil
}

func (w *world) nominations(scenario.Args) error {
	n := w.Nominations()
	w.log.Printf("%d nominated", n.Len())
	n.Nodes(func(node string, pods []*state.Pod) bool {
		w.log.Printf("  %s:%s", node, names(pods))
		return true
	})
	return nil
}

func (w *world) reverse(scenario.Args) error {
	less := w.less
	w.less = func(a, b *state.QueuedPod) bool { return less(b, a) }
	w.Rebuild(nil)
	return nil
}

func (w *world) state(scenario.Args) error {
	w.log.Printf("%d waiting, %d events kept", w.Len(), w.InFlightEvents())
	for place, p := range w.All() {
		var line strings.Builder
		fmt.Fprintf(&line, "  %v %s attempts=%d", place, p.Pod.Name, p.Attempts)
		if p.Unschedulable > 0 || p.Errors > 0 {
			fmt.Fprintf(&line, " unschedulable=%d errors=%d", p.Unschedulable, p.Errors)
		}
		if !p.BackoffUntil.IsZero() {
			fmt.Fprintf(&line, " backoff=%v", p.BackoffUntil.Sub(w.start))
		}
		if len(p.Rejectors)+len(p.Pending) > 0 {
			fmt.Fprintf(&line, " rejectors=%v pending=%v", p.Rejectors, p.Pending)
		}
		if p.GatedBy != "" {
			fmt.Fprintf(&line, " gate=%s(%s)", p.GatedBy, p.GateReason)
		}
		if !p.RetryAt.IsZero() {
			fmt.Fprintf(&line, " retry=%v by %s", p.RetryAt.Sub(w.start), p.RetryBy)
		}
		if p.Flushed {
			line.WriteString(" flushed")
		}
		w.log.Printf("%s", line.String())
	}
	return nil
}
