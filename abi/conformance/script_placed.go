package conformance

import (
	"context"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
)

// supposed plays the what-if: add_pod, remove_pod, and filter for the overlay row.
func (d *drive) supposed(ctx context.Context) error {
	if d.over || d.verdicts == nil || d.s.whatIf < 0 || !slices.Contains(d.standing, d.s.whatIf) {
		return nil // without a filter, or pre_filter left it out (ABI-5.2)
	}
	state := d.state.clone()
	on := slices.Clone(d.s.on)
	step := func(p abi.Point, pod int) error {
		if !d.has(p) {
			return nil
		}
		a := &ask{point: p, whatIf: &image.Overlay{Node: d.s.whatIf, Pods: slices.Clone(on)}, state: state}
		if p != abi.Filter {
			a.pods = []cluster.Pod{d.s.cluster.Pods[pod]}
		}
		r, err := d.call(ctx, a)
		if err != nil {
			return err
		}
		if p == abi.Filter && r != nil && r.code == abi.Success {
			d.say(p, "the overlay row", abi.Code(r.call.Codes[0]).String())
			return nil
		}
		d.result(p, r)
		return nil
	}
	on = append(on, d.s.add)
	if err := step(abi.AddPod, d.s.add); err != nil {
		return err
	}
	if d.s.remove >= 0 {
		on = slices.DeleteFunc(on, func(i int) bool { return i == d.s.remove })
		if err := step(abi.RemovePod, d.s.remove); err != nil {
			return err
		}
	}
	return step(abi.Filter, -1)
}

// noRoom calls post_filter, as if other plugins had rejected the nodes that this one passed.
func (d *drive) noRoom(ctx context.Context) error {
	if d.over || !d.has(abi.PostFilter) {
		return nil
	}
	if d.w.moving == allCalls {
		d.renumber()
	}
	a := &ask{point: abi.PostFilter, state: d.state.clone()}
	for row, n := range d.held.parts[0].Nodes {
		a.rows = append(a.rows, uint32(row))
		verdict := d.s.verdict[n]
		switch {
		case !slices.Contains(d.standing, n):
			verdict = abi.UnschedulableAndUnresolvable
		case !slices.Contains(d.passed, n):
			verdict = abi.Unschedulable
		}
		a.verdicts = append(a.verdicts, verdict)
	}
	r, err := d.callHeld(ctx, a)
	if err == nil {
		d.result(abi.PostFilter, r)
	}
	return err
}

// other calls points about another pod in the instances that are kept: a guest keeps nothing of this one there (ABI-2.8).
func (d *drive) other(ctx context.Context, points ...abi.Point) error {
	if d.w.fresh != never {
		return nil
	}
	pod, node, state := d.pod, d.node, newGuestState()
	if d.pod = d.s.pods[0]; len(d.passed) > 0 {
		d.node = d.s.cluster.Nodes[d.passed[int((d.s.seed+1)%uint64(len(d.passed)))]].Metadata.Name
	}
	defer func() { d.pod, d.node = pod, node }()
	for _, p := range points {
		a := &ask{point: p, state: state}
		switch p {
		case abi.PreScore:
			a.rows = rowsOf(d.held.parts[0], d.passed)
		case abi.Reserve:
			a.node = d.node
		}
		if !d.has(p) {
			continue
		}
		if r, err := d.call(ctx, a); err != nil || r == nil || r.code != abi.Success {
			return err
		}
	}
	return nil
}

// scored calls pre_score, score and normalize for the nodes that passed.
func (d *drive) scored(ctx context.Context) error {
	if d.over || !d.has(abi.Score) {
		return nil
	}
	if err := d.other(ctx, abi.PreFilter, abi.PreScore); err != nil {
		return err
	}
	if d.has(abi.PreScore) {
		if d.w.moving == allCalls {
			d.renumber()
		}
		a := &ask{point: abi.PreScore, state: d.state, rows: rowsOf(d.held.parts[0], d.passed)}
		r, err := d.callHeld(ctx, a)
		if err != nil {
			return err
		}
		if d.result(abi.PreScore, r); r == nil || r.code != abi.Success {
			return nil
		}
	}
	_, scores, err := d.perNode(ctx, abi.Score, d.passed, nil)
	if err != nil || scores == nil || !d.has(abi.Normalize) {
		return err
	}
	_, _, err = d.perNode(ctx, abi.Normalize, d.passed, scores)
	return err
}

// placed calls the points from reserve on for one of the nodes that passed, and unreserve after
// a point rejects the pod, or as if another plugin had.
func (d *drive) placed(ctx context.Context) error {
	if d.over || len(d.passed) == 0 {
		return nil
	}
	d.node = d.s.cluster.Nodes[d.passed[int(d.s.seed%uint64(len(d.passed)))]].Metadata.Name
	ask1 := func(p abi.Point, state *guestState) (bool, error) {
		if !d.has(p) {
			return true, nil
		}
		r, err := d.call(ctx, &ask{point: p, node: d.node, state: state})
		if err != nil {
			return false, err
		}
		if d.result(p, r); r == nil {
			return false, nil
		}
		d.patch(p, r)
		return r.code == abi.Success || r.code == abi.Wait || r.code == abi.Skip, nil
	}
	if d.s.seed%2 == 0 { // another plugin's reserve was first, and failed
		if _, err := ask1(abi.Unreserve, d.state.clone()); err != nil {
			return err
		}
	}
	for _, p := range []abi.Point{abi.Reserve, abi.Permit, abi.PreBind, abi.Bind, abi.PostBind} {
		if p == abi.PreBind {
			if err := d.other(ctx, abi.Reserve); err != nil {
				return err
			}
		}
		goesOn, err := ask1(p, d.state)
		if err != nil {
			return err
		}
		if !goesOn || p == abi.Permit {
			state := d.state.clone()
			for range 1 + d.s.seed/2%2 { // it is idempotent (ABI-5.17)
				if _, err := ask1(abi.Unreserve, state); err != nil {
					return err
				}
			}
			if !goesOn {
				return nil
			}
		}
	}
	return nil
}
