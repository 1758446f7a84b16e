package queues

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kube-scheduler/framework"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/compare"
)

// Parse reads a trace file.
func Parse(data []byte) (*Trace, error) {
	t := &Trace{}
	return t, yaml.UnmarshalStrict(data, t)
}

// Tree returns the trace as maps, lists and scalars.
func (t *Trace) Tree() (tree map[string]any, err error) {
	data, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	return tree, err
}

// Run drives both queues. It ends at the first difference.
func Run(t *Trace, n *compare.Counts) ([]compare.Difference, error) {
	r, err := newRun(t)
	if err != nil {
		return nil, err
	}
	defer r.close()
	n.Cases++
	for i := range t.Ops {
		op := &t.Ops[i]
		r.world.salt = op.Salt
		r.wait(op.After)
		ours, theirs := r.do(op)
		n.Steps++
		what := op.Do
		if ours == theirs {
			what, ours, theirs = "state after "+op.Do, r.ours(), r.theirs()
		}
		if ours != theirs {
			d := compare.Difference{Plugin: Name, What: what, Where: fmt.Sprintf("operation %d: %+v", i, *op), Ours: ours, Theirs: theirs}
			n.Note(&d)
			return []compare.Difference{d}, nil
		}
	}
	return nil, nil
}

// out is a pod that was popped.
type out struct {
	ours   *state.QueuedPod
	theirs *internal.QueuedPodInfo
}

// do applies an operation to both. The results differ only if the operation's own answers do.
func (r *run) do(op *Op) (ours, theirs string) {
	switch op.Do {
	case "add":
		if r.latest[op.Pod] != nil {
			return "", ""
		}
		r.add(op)
	case "update":
		r.update(op)
	case "delete":
		r.remove(op.Pod)
	case "pop":
		return r.pop()
	case "done":
		if name, ok := r.nth(op.N); ok {
			r.them.Done(types.UID(name))
			r.us.Done(types.UID(name))
			r.binding[name] = true
		}
	case "return":
		if name, ok := r.nth(op.N); ok {
			return r.giveBack(name, op)
		}
	case "event":
		r.event(op)
	case "activate":
		if p := r.latest[op.Pod]; p != nil {
			r.them.Activate(r.logger, map[string]*v1.Pod{op.Pod: p.Object})
			r.us.Activate([]types.UID{types.UID(op.Pod)})
		}
	case "gate":
		r.world.gates[op.Pod] = op.By
	}
	return "", ""
}

// nth returns the n-th pod that is out.
func (r *run) nth(n int) (string, bool) {
	names := slices.Sorted(maps.Keys(r.out))
	if len(names) == 0 {
		return "", false
	}
	return names[n%len(names)], true
}

func podOf(op *Op) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: op.Pod, Namespace: "d", UID: types.UID(op.Pod), Labels: map[string]string{"l": op.Label}}}
	p.Spec.Priority, p.Status.NominatedNodeName = &op.Priority, op.Nominated
	if op.Gated {
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x"}}
	}
	return state.NewPod(p)
}

func (r *run) add(op *Op) {
	p := podOf(op)
	_ = r.store.Add(p.Object) // a store's add fails for what has no name only
	r.latest[op.Pod] = p
	r.world.gates[op.Pod] = op.By
	r.them.Add(r.ctx, p.Object)
	r.us.Add(p)
}

func (r *run) update(op *Op) {
	old := r.latest[op.Pod]
	if old == nil {
		return
	}
	p := podOf(op)
	_ = r.store.Update(p.Object)
	if !r.binding[op.Pod] {
		r.them.Update(r.ctx, old.Object, p.Object)
	}
	r.us.Update(old, p)
	r.latest[op.Pod] = p
}

func (r *run) remove(name string) {
	p := r.latest[name]
	if p == nil {
		return
	}
	_ = r.store.Delete(p.Object)
	r.them.Delete(r.logger, p.Object)
	if _, ok := r.out[name]; ok {
		r.them.Done(types.UID(name))
	}
	r.us.Delete(types.UID(name))
	delete(r.latest, name)
	delete(r.out, name)
	delete(r.binding, name)
}

// pop pops from both, unless both would block.
func (r *run) pop() (ours, theirs string) {
	c := r.us.Pending()
	if c.Active+c.Backoff == 0 {
		return "", ""
	}
	if len(r.them.PodsInActiveQ())+len(r.them.PodsInBackoffQ()) == 0 {
		return "a pod", "none" // it would block forever
	}
	entity, err := r.them.Pop(r.logger)
	if err != nil {
		return "", err.Error()
	}
	b := entity.(*internal.QueuedPodInfo) // there are no pod groups
	a, ok := r.us.Pop()
	if !ok {
		return "none", b.Pod.Name
	}
	r.out[b.Pod.Name] = out{a, b}
	return a.Pod.Name, b.Pod.Name
}

// giveBack returns a pod that was not placed, and sets its nomination.
func (r *run) giveBack(name string, op *Op) (ours, theirs string) {
	o, rejectors, pending := r.out[name], op.Rejectors, op.Pending
	if r.binding[name] {
		rejectors, pending = nil, nil // the binding cycle failed
	}
	o.theirs.ClearRejectorPlugins()
	o.theirs.UnschedulablePlugins, o.theirs.PendingPlugins = sets.New(rejectors...), sets.New(pending...)
	o.theirs.PodInfo, _ = internal.NewPodInfo(r.latest[name].Object.DeepCopy())
	if err := r.them.AddUnschedulablePodIfNotPresent(r.logger, o.theirs, 0); err != nil {
		return "", err.Error()
	}
	o.ours.ClearRejectors()
	o.ours.Rejectors, o.ours.Pending = rejectors, pending
	if !r.us.AddUnschedulable(o.ours) {
		return "the pod is not known", ""
	}
	delete(r.out, name)
	delete(r.binding, name)
	switch node, to := strings.CutPrefix(op.Nominate, "to "); {
	case to:
		r.them.AddNominatedPod(r.logger, o.theirs.PodInfo, &framework.NominatingInfo{NominatedNodeName: node, NominatingMode: framework.ModeOverride})
		r.us.Nominate(types.UID(name), node)
	case op.Nominate == "status":
		r.them.AddNominatedPod(r.logger, o.theirs.PodInfo, nil)
		r.us.Nominate(types.UID(name), r.latest[name].NominatedNode())
	}
	return "", ""
}

func (r *run) event(op *Op) {
	i := slices.IndexFunc(events(), func(e event) bool { return e.name == op.Event })
	if i < 0 {
		return
	}
	e := events()[i]
	if op.Below == nil {
		r.them.MoveAllToActiveOrBackoffQueue(r.logger, e.theirs, nil, nil, nil)
		r.us.Move(e.ours, state.Object{}, nil)
		return
	}
	r.them.MoveAllToActiveOrBackoffQueue(r.logger, e.theirs, nil, nil, func(p *v1.Pod) bool { return *p.Spec.Priority <= *op.Below })
	r.us.Move(e.ours, state.Object{}, func(p *state.Pod) bool { return p.Priority <= *op.Below })
}

// wait advances the clock, and does what kube-scheduler's goroutines do meanwhile.
func (r *run) wait(d time.Duration) {
	end := r.clock.Now().Add(d)
	for {
		next := r.nextFlush
		if r.nextLeftover.Before(next) {
			next = r.nextLeftover
		}
		if next.After(end) {
			break
		}
		r.clock.SetTime(next)
		if next.Equal(r.nextFlush) {
			flushBackoff(r.them, r.logger)
			r.nextFlush = r.nextFlush.Add(time.Second)
		}
		if next.Equal(r.nextLeftover) {
			flushLeftover(r.them, r.logger)
			r.nextLeftover = r.nextLeftover.Add(30 * time.Second)
		}
		if r.trace.Ticks {
			r.us.Tick()
		}
	}
	r.clock.SetTime(end)
	r.us.Tick()
}
