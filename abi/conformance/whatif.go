package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
)

// Names of duties of what-ifs.
const (
	dutyOverlay = "an overlay row is judged as a node with its pods would be"
	dutyWhatIf  = "after add_pod and remove_pod a node is judged as if its pods were so"
)

// step is a pod that comes to the node of a what-if or leaves it, as an index of the cluster's
// pods.
type step struct {
	point abi.Point
	pod   int
}

// whatIfs returns what may happen to the node: a pod comes and goes; one comes and another
// leaves; all leave, and come back in the other order.
func (s *scene) whatIfs() [][]step {
	comes, goes := step{abi.AddPod, s.add}, step{abi.RemovePod, s.add}
	out := [][]step{{comes, goes}}
	if s.remove < 0 {
		return out
	}
	var all []step
	for _, pod := range s.on {
		all = append(all, step{abi.RemovePod, pod})
	}
	for _, pod := range slices.Backward(s.on) {
		all = append(all, step{abi.AddPod, pod})
	}
	return append(out, []step{comes, {abi.RemovePod, s.remove}}, all)
}

// without returns what a call of scope node is about, and nothing that its answers must not depend on: no other node
// (ABI-4.12), nor the pods on them, and no namespaces (ABI-4.15).
func (s *scene) without(rows []uint32, of image.Numbering) (*cluster.Cluster, image.Numbering) {
	c := *s.cluster
	c.Nodes = append(slices.Clip(c.Nodes), cluster.Node{Metadata: cluster.Metadata{Name: "x"}})
	out, on := of, map[string]bool{}
	out.Nodes, out.Namespaces, out.Slots = nil, nil, slices.Clone(of.Slots)
	for _, row := range rows {
		for len(out.Nodes) < int(row) {
			out.Nodes = append(out.Nodes, len(s.cluster.Nodes))
		}
		out.Nodes = append(out.Nodes, of.Nodes[row])
		on[c.Nodes[of.Nodes[row]].Metadata.Name] = true
	}
	for slot, i := range out.Slots {
		if i >= 0 && !on[cmp.Or(c.Pods[i].Spec.NodeName, c.Pods[i].Status.NominatedNodeName)] {
			out.Slots[slot] = -1
		}
	}
	return &c, out
}

// mostJudged is how many nodes a scene has at most in which all what-ifs are played.
const mostJudged = 40

// whatIfs holds verdicts on overlay rows against those on the same node with the same pods. It
// does so in the first way only: the others are compared with that.
func (d *drive) whatIfs(ctx context.Context) error {
	if d.w.duty != "" || d.over || d.verdicts == nil || d.s.whatIf < 0 || len(d.s.cluster.Nodes) > mostJudged || !slices.Contains(d.standing, d.s.whatIf) {
		return nil
	}
	duty := dutyWhatIf
	if !d.has(abi.AddPod) {
		if duty = dutyOverlay; d.k.man.Scope(abi.Filter) != abi.ScopeNode {
			return nil // without add_pod it sees no pod come or go
		}
	}
	for _, steps := range d.s.whatIfs() {
		if err := d.whatIf(ctx, duty, steps); err != nil {
			return err
		}
	}
	return nil
}

// overlay plays steps, and calls judged with filter's verdict on the overlay row before the
// first one and after each. It ends early if a call has no verdict.
func (d *drive) overlay(ctx context.Context, steps []step, judged func(after []step, verdict string) error) error {
	state, on := d.state.clone(), slices.Clone(d.s.on)
	succeeds := func(a *ask) (*reply, error) {
		a.whatIf, a.state = &image.Overlay{Node: d.s.whatIf, Pods: slices.Clone(on)}, state
		r, err := d.call(ctx, a)
		if err != nil || r == nil || r.code != abi.Success {
			return nil, err
		}
		return r, nil
	}
	fails := func(steps []step, err error) error {
		if err != nil {
			return err
		}
		return judged(steps, abi.Error.String())
	}
	for i := range len(steps) + 1 {
		if i > 0 {
			s := steps[i-1]
			if on = slices.DeleteFunc(on, func(i int) bool { return i == s.pod }); s.point == abi.AddPod {
				on = append(on, s.pod)
			}
			if d.has(s.point) {
				if r, err := succeeds(&ask{point: s.point, pods: []cluster.Pod{d.s.cluster.Pods[s.pod]}}); r == nil {
					return fails(steps[:i], err)
				}
			}
		}
		r, err := succeeds(&ask{point: abi.Filter})
		if r == nil {
			return fails(steps[:i], err)
		}
		if err := judged(steps[:i], abi.Code(r.call.Codes[0]).String()); err != nil {
			return err
		}
	}
	return nil
}

// whatIf compares the verdict after each step with that in a cluster that is so.
func (d *drive) whatIf(ctx context.Context, duty string, steps []step) error {
	return d.overlay(ctx, steps, func(after []step, got string) error {
		want, err := d.asIf(ctx, after)
		if err != nil || want == "" {
			return err
		}
		name, wrong := d.s.cluster.Nodes[d.s.whatIf].Metadata.Name, ""
		if got != want {
			var said []string
			for _, s := range after {
				said = append(said, fmt.Sprintf("%s of %s", s.point, d.s.cluster.Pods[s.pod].Metadata.Name))
			}
			wrong = fmt.Sprintf("%s: after %v filter of %s is %s for an overlay row, but %s for a node with such pods", d.s.name, said, name, got, want)
		}
		d.k.looked(duty, wrong)
		return nil
	})
}

// asIf returns filter's verdict on the what-if's node in a cluster in which the steps have
// happened; empty if the pod is rejected before.
func (d *drive) asIf(ctx context.Context, steps []step) (string, error) {
	s := *d.s
	c := *s.cluster
	c.Pods = slices.Clone(c.Pods)
	name := c.Nodes[s.whatIf].Metadata.Name
	for _, step := range steps {
		if c.Pods[step.pod].Spec.NodeName = ""; step.point == abi.AddPod {
			c.Pods[step.pod].Spec.NodeName = name
		}
	}
	s.cluster = &c
	was := *d
	d.s, d.state, d.script, d.said = &s, newGuestState(), nil, map[string]string{}
	err := d.filtered(ctx)
	out := d.verdicts[name]
	d.s, d.state, d.script, d.held, d.standing, d.passed, d.over, d.verdicts, d.reasons, d.said =
		was.s, was.state, was.script, was.held, was.standing, was.passed, was.over, was.verdicts, was.reasons, was.said
	return out, err
}
