package scheduler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// witness is a plugin that logs all that it is shown at Unreserve and of events. Pods say by their labels what it does.
type witness struct {
	info *plugin.Info
	w    *world
	left string // of pods that are not in flight any more
}

// saw is what the witness keeps for a pod.
type saw struct{ Text string }

func (s *saw) Clone() state.Value { return s }

func (p *witness) Info() *plugin.Info  { return p.info }
func (p *witness) ReadsNodeInfo() bool { return true }

func (p *witness) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	for i, row := range rows {
		if c.Pod.Object.Labels["on"] != c.Snapshot.Name(row) {
			out.Reject(i, abi.Unschedulable, out.Reason("not wanted"))
		}
	}
}

// PostFilter preempts the pods that are named after the pod.
func (p *witness) PostFilter(c *plugin.Cycle, _ *plugin.Diagnosis) (r plugin.PostFilterResult, _ *plugin.Status) {
	for pod := range p.w.scheduler.Cached() {
		if strings.HasPrefix(pod.Name, c.Pod.Name+"-") {
			r.NominatedNode, r.Preemption.Victims = pod.NodeName(), append(r.Preemption.Victims, pod)
		}
	}
	if r.NominatedNode == "" {
		return r, plugin.NewStatus(abi.Unschedulable)
	}
	r.Override = true
	return r, nil
}

func (p *witness) Reserve(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	pl.State.Write("witness", "saw", &saw{"reserved"})
	return plugin.Directives{Patch: state.Patch{Annotations: map[string]string{"patched": pl.Pod.Name}}}, nil
}

func (p *witness) Permit(pl *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	wait, err := time.ParseDuration(pl.Pod.Object.Labels["wait"])
	if err != nil {
		return 0, plugin.Directives{}, nil
	}
	return wait, plugin.Directives{}, plugin.NewStatus(abi.Wait)
}

func (p *witness) PreBindPreFlight(*plugin.Placement) *plugin.Status { return nil }

func (p *witness) PreBind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	if pl.Pod.Object.Labels["fails"] == "" {
		return plugin.Directives{}, nil
	}
	pl.State.Write("witness", "saw", &saw{"changed"})
	return plugin.Directives{}, plugin.Fail(errors.New("it fails"))
}

func (p *witness) Unreserve(pl *plugin.Placement) plugin.Directives {
	kept, _ := pl.State.Read("witness", "saw").(*saw)
	p.w.log.Printf("unreserve %s %v on %v in %v, seed %x, patch %v, kept %v, left %q", pl.Pod.Name, pl.Pod.Object.Annotations,
		pl.Node.Object.Labels, pl.Namespace.Labels, pl.Seed, pl.Patch, kept, p.left)
	for _, other := range pl.Info.Pods {
		p.w.log.Printf("  beside %s %v since %d", other.Pod.Name, other.Pod.Object.Labels, other.Pod.AssignedAt)
	}
	return plugin.Directives{}
}

func (p *witness) CarriedFor(pl *plugin.Placement) json.RawMessage {
	if pl == nil {
		return json.RawMessage(fmt.Sprintf("%q", p.left))
	}
	return json.RawMessage(`"reserved"`)
}

func (p *witness) ChangedFor(pl *plugin.Placement) json.RawMessage {
	return json.RawMessage(fmt.Sprintf("%q", pl.State.Read("witness", "saw").(*saw).Text))
}

func (p *witness) ResumeFor(pl *plugin.Placement, carried json.RawMessage) error {
	text := strings.Trim(string(carried), `"`)
	if pl == nil {
		p.left = text
		return nil
	}
	pl.State.Write("witness", "saw", &saw{text})
	return nil
}

func (p *witness) hint(pod *state.Pod, o state.Object) (state.Hint, error) {
	text := "hint " + pod.Name
	for _, x := range []*state.Pod{o.OldPod, o.NewPod} {
		if x != nil {
			text += fmt.Sprint(" ", x.Name, x.Object.Labels)
		}
	}
	for _, x := range []*state.Node{o.OldNode, o.NewNode} {
		if x != nil {
			text += fmt.Sprint(" ", x.Name, x.Object.Labels)
		}
	}
	for _, x := range []any{o.Old, o.New} {
		if x, ok := x.(metav1.Object); ok {
			text += " " + x.GetName()
		}
	}
	p.w.log.Printf("%s", text)
	return state.QueueSkip, nil
}

// Attempted and Ended make the witness an observer.
func (p *witness) Attempted(a *report.Attempt, _ func(uint32) string) {
	p.w.log.Printf("attempt %d of %s: %s", a.Sequence, a.Pod, a.Code)
}

func (p *witness) Ended(e *report.Ending) {
	p.w.log.Printf("ended %d of %s on %s: %s %s, try %d, flushed %v, after %v", e.Sequence, e.Pod, e.Node, e.Code, e.Message, e.Try, e.Flushed, e.SinceFirst)
}

// newWitness returns a world with a witness.
func newWitness(t *testing.T) (*world, *witness) {
	w := newWorld(t, &scenario.Log{})
	p := &witness{w: w, info: &plugin.Info{Name: "witness"}}
	for _, resource := range []state.EventResource{state.PodResource, state.NodeResource, state.CSINodeResource} {
		p.info.Events = append(p.info.Events, plugin.Event{ClusterEvent: state.ClusterEvent{Resource: resource, Action: state.AllActions}, Hint: p.hint})
	}
	for _, point := range []abi.Point{abi.Filter, abi.PostFilter, abi.Reserve, abi.Permit, abi.PreBind} {
		w.profiles[0].Points[point] = append(w.profiles[0].Points[point], pipeline.Entry{Plugin: p})
	}
	for _, name := range []string{"NodeName", "DeferredPodScheduling"} {
		if err := w.native(name); err != nil {
			t.Fatal(err)
		}
	}
	w.observer, w.held, w.deaf = p, true, true
	return w, p
}

// keeping keeps the lines of the events since the last segment began.
type keeping struct {
	t     *testing.T
	full  bool
	begun bool
	lines []string
}

func (k *keeping) Full() bool { return k.full }
func (k *keeping) Begin()     { k.full, k.begun, k.lines = false, true, nil }

func (k *keeping) Enter(e inbox.Event) {
	line, err := inbox.Format(e)
	if err != nil {
		k.t.Fatal(err)
	}
	k.lines = append(k.lines, line)
}

func labelled(name, node string, labels ...string) *state.Pod {
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, UID: types.UID(name), Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		object.Labels[labels[i]] = labels[i+1]
	}
	object.Spec.SchedulerName, object.Spec.NodeName = "default", node
	return state.NewPod(object)
}

func labelledNode(name, version string) *state.Node {
	return state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"version": version}}})
}

func labelledNamespace(version string) *state.Namespace {
	return state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"version": version}}})
}

// before lets pods be in flight in all ways.
func (w *world) before(p *witness) {
	s := w.scheduler
	settle := func() {
		for s.Step(w.t.Context()) {
		}
	}
	try := func(pods ...*state.Pod) {
		w.set(pods...)
		settle()
		w.clock.Advance(time.Second)
	}
	s.SetNamespace(labelledNamespace("1"))
	s.SetNode(labelledNode("n", "1"))
	s.SetNode(labelledNode("m", "1"))
	w.set(labelled("q", "n"), labelled("r", "n"))
	for _, name := range []string{"boss-1", "boss-2", "boss-3", "chief-1", "chief-2", "chief-3"} {
		w.set(labelled(name, "m"))
	}
	grows := labelled("grows", "n").Object
	grows.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
	try(state.NewPod(grows))
	try(labelled("unconfirmed", "", "on", "n"))
	w.spawned[0]()
	settle()
	w.spawned = nil
	try(labelled("w1", "", "on", "n", "wait", "10m"))
	w.gone("q") // w1 misses it, w2 does not
	try(labelled("w2", "", "on", "n", "wait", "30s"))
	try(labelled("w3", "", "on", "n", "wait", "10m"))
	w.set(labelled("r", "n", "changed", "yes"))
	s.SetNode(labelledNode("n", "2"))
	s.Event(state.ClusterEvent{Resource: state.CSINodeResource, Action: state.Add}, state.Object{New: &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	s.ReleasePlugin("other")
	s.SetNamespace(labelledNamespace("2"))
	try(labelled("fails", "", "on", "n", "fails", "yes"))
	try(labelled("gone", "", "on", "n", "fails", "yes"))
	w.gone("gone")
	w.set(labelled("w1", "", "on", "n", "wait", "10m", "changed", "yes"))
	try(labelled("boss", ""), labelled("chief", ""))
	w.refused["boss-1"] = true
	w.spawned[2]()
	w.spawned = slices.Delete(w.spawned, 2, 3)
	settle()
	p.left = "something"
}

// after lets them end.
func (w *world) after() {
	s, ctx := w.scheduler, w.t.Context()
	s.RejectWaiting("w1", "witness", "no")
	s.RejectWaiting("w3", "other", "no")
	s.Step(ctx)
	for len(w.spawned) > 0 {
		run := w.spawned[0]
		w.spawned = w.spawned[1:]
		run()
		s.Step(ctx)
	}
	confirmed := labelled("unconfirmed", "n", "on", "n").Object.DeepCopy()
	confirmed.Annotations = map[string]string{"patched": "otherwise"}
	s.SetPods(state.NewPod(confirmed))
	w.clock.Advance(time.Minute)
	s.Step(ctx)
}

// told returns what the witness logged, and how the loop is now.
func (w *world) told() string {
	w.state()
	w.log.Printf("%d reconciled", w.scheduler.Totals().Reconciled)
	for _, pod := range w.scheduler.Queued() {
		w.log.Printf("%s has %v", pod.Pod.Name, pod.Pod.Object.Labels)
	}
	for pod := range w.scheduler.Cached() {
		w.log.Printf("%s is on %s since %d", pod.Name, pod.NodeName(), pod.AssignedAt)
	}
	for _, waits := range w.scheduler.WaitingPods() {
		w.log.Printf("%s waits for %v", waits.Pod.Name, waits.Plugins)
	}
	var out []string
	for line := range strings.Lines(w.log.Take()) {
		if !strings.HasPrefix(line, "  evict") { // it happens beside the loop
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// carryOn returns what a scheduler tells that is restored from a checkpoint, and goes on.
func carryOn(t *testing.T, lines []string) (out string) {
	w, _ := newWitness(t)
	s := w.get()
	for _, line := range lines {
		e, err := inbox.Parse(line)
		if err != nil {
			return err.Error()
		}
		if _, decision := e.(*inbox.Decision); !decision {
			s.Handle(t.Context(), e)
		}
	}
	if err := s.Broken(); err != nil {
		return err.Error()
	}
	return w.told()
}

// TestCheckpoint: a scheduler that is restored from a checkpoint goes on like the one that wrote it, with pods in flight
// in all ways. Each field of the checkpoint is needed for that.
func TestCheckpoint(t *testing.T) {
	w, p := newWitness(t)
	k := &keeping{t: t}
	w.recorder = k
	s := w.get()
	w.before(p)
	k.full = true
	s.Step(t.Context())
	if !k.begun {
		t.Fatal("no segment has begun")
	}
	w.log.Take()
	w.after()
	want := w.told()
	if got := carryOn(t, k.lines); got != want {
		t.Fatalf("got\n%s\nwant\n%s\nafter\n%s", got, want, strings.Join(k.lines, "\n"))
	}
	for _, lost := range []struct{ word, field string }{
		{"assumed", "patch=`[^`]*`"}, {"assumed", "object=`[^`]*`"}, {"assumed", ""},
		{"queued", "since=[0-9]+"}, {"queued", "latest=`[^`]*`"}, {"queued", ""},
		{"missed", "old-pod=`[^`]*`"}, {"missed", "new-pod=`[^`]*`"}, {"missed", "old-node=`[^`]*`"}, {"missed", "new-node=`[^`]*`"},
		{"missed", "new=`[^`]*`"}, {"missed", "plugin=[a-z]+"}, {"missed", ""},
		{"in-flight", "attempt=[0-9]+"}, {"in-flight", "try=[0-9]+"}, {"in-flight", "has-first=true first=[^ ]+"}, {"in-flight", "seed=[0-9]+"},
		{"in-flight", "patch=`[^`]*`"}, {"in-flight", "waits=`[^`]*`"}, {"in-flight", `"timeout":[0-9]+,`}, {"in-flight", `,"deadline":"[^"]+"`},
		{"in-flight", "kept=`[^`]*`"}, {"in-flight", "object=`[^`]*`"}, {"in-flight", "node=`[^`]*`"}, {"in-flight", "namespace=`[^`]*`"},
		{"in-flight", "beside=`[^`]*`"}, {"in-flight", ""},
		{"kept", "kept=`[^`]*`"}, {"bound", "changed=`[^`]*`"},
		{"preempting", "victims=`[^`]*`"}, {"preempting", "begun=[0-9]+"}, {"preempting", "running=`[^`]*`"}, {"preempting", "failed=true"},
		{"preempting", ""}, {"carried", "sequence=[0-9]+"}, {"carried", "evictions=[0-9]+"},
	} {
		lines, found := make([]string, 0, len(k.lines)), false
		field := regexp.MustCompile(" ?" + lost.field)
		for _, line := range k.lines {
			next := line
			if strings.HasPrefix(line, lost.word+" ") {
				if lost.field == "" {
					found = true
					continue
				}
				next = field.ReplaceAllString(line, "")
			}
			found = found || next != line
			lines = append(lines, next)
		}
		t.Run(lost.word+" "+lost.field, func(t *testing.T) {
			if !found {
				t.Fatal("no checkpoint has it")
			}
			if carryOn(t, lines) == want {
				t.Error("it is not needed")
			}
		})
	}
}
