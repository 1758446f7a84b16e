package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/wire"
)

// play calls the declared points about a scene, in the order in which a pod passes them, and
// returns the answers. It assumes answers of other plugins that make most points be called.
func (d *drive) play(ctx context.Context, s *scene) ([]entry, error) {
	d.s, d.pod, d.state, d.script, d.held = s, s.pod, newGuestState(), nil, nil
	d.standing, d.passed, d.over, d.verdicts, d.reasons, d.said = nil, nil, false, nil, nil, map[string]string{}
	if !s.same || d.generation == 0 {
		d.generation++
	}
	if d.far != nil && isFar(s) {
		layouts := d.layouts
		d.im, d.layouts = d.far, []*image.Image{d.far}
		defer func() { d.im, d.layouts = layouts[0], layouts }()
	}
	for i := range s.cluster.Nodes {
		if !s.rejected[i] {
			d.standing = append(d.standing, i)
		}
	}
	d.passed = d.standing
	d.strs = s.dictionary(&image.Encoder{Reads: d.k.reads})
	for _, part := range []func(context.Context) error{d.queued, d.filtered, d.supposed, d.again, d.whatIfs, d.noRoom, d.scored, d.placed} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	d.left()
	if d.w.fresh != never {
		if err := d.close(ctx); err != nil {
			return nil, err
		}
	}
	return d.script, nil
}

// has reports whether the plugin has a point.
func (d *drive) has(p abi.Point) bool { return d.k.man.Points.Get(p) != nil }

func (d *drive) say(p abi.Point, of, answer string) {
	d.script = append(d.script, entry{p, of, answer})
}

// result records the answer of a call as a whole. It omits directives that are not carried out,
// and reasons, which are not part of a verdict (ABI-3.8).
func (d *drive) result(p abi.Point, r *reply) {
	if r == nil {
		d.say(p, "", "a fault")
		return
	}
	answer := r.code.String()
	if r.call.Wait != 0 && r.code == abi.Wait {
		answer += fmt.Sprintf(" for %d ms", r.call.Wait)
	}
	var asked []wire.Directive
	for _, directive := range r.call.Directives {
		if directive.Kind == abi.Reject {
			directive.Second = "" // a reason
		}
		if counts(p, r.code, directive.Kind) {
			asked = append(asked, directive)
		}
	}
	if len(asked) > 0 {
		answer += fmt.Sprint("; ", slices.Sorted(slices.Values(carried(asked))))
	}
	d.say(p, "", answer)
	if why := r.call.StatusReason; why > 0 {
		d.said[fmt.Sprintf("%s, answer %d", p, len(d.script))] = strings.Join(r.call.ReasonSets[why-1], "; ")
	}
}

// filtered calls pre_filter and filter.
func (d *drive) filtered(ctx context.Context) error {
	d.renumber()
	d.verdicts, d.reasons = nil, map[string]string{}
	if d.has(abi.PreFilter) {
		r, err := d.call(ctx, &ask{point: abi.PreFilter, state: d.state})
		if err != nil {
			return err
		}
		d.result(abi.PreFilter, r)
		if d.over = r == nil || r.code != abi.Success && r.code != abi.Skip; d.over || r.code == abi.Skip {
			return nil
		}
		if r.call.HasRowSet {
			d.narrow(r.call.RowSet)
		}
	}
	if !d.has(abi.Filter) {
		return nil
	}
	if err := d.other(ctx, abi.PreFilter); err != nil {
		return err
	}
	answers, _, err := d.perNode(ctx, abi.Filter, d.standing, nil)
	d.verdicts = answers
	if d.over = answers == nil; d.over || err != nil {
		return err
	}
	d.passed = nil
	for _, n := range d.standing {
		if answers[d.s.cluster.Nodes[n].Metadata.Name] == abi.Success.String() {
			d.passed = append(d.passed, n)
		}
	}
	return nil
}

// theRowSet is what pre_filter answers besides its code.
const theRowSet = "the row set"

// narrow applies pre_filter's row set.
func (d *drive) narrow(rows []uint32) {
	d.standing = nil
	var names []string
	for _, row := range rows {
		n := d.held.parts[0].Nodes[row]
		if !d.s.rejected[n] {
			d.standing = append(d.standing, n)
		}
		names = append(names, d.s.cluster.Nodes[n].Metadata.Name)
	}
	slices.Sort(d.standing)
	slices.Sort(names)
	d.passed = d.standing
	d.say(abi.PreFilter, theRowSet, fmt.Sprint(names))
}

// perNode calls filter, score or normalize for nodes, in as many calls as the way requires. It
// returns the answers by node name, and scores by the cluster's nodes; nothing if the call as a
// whole failed.
func (d *drive) perNode(ctx context.Context, p abi.Point, nodes []int, input []int64) (map[string]string, []int64, error) {
	scores := make([]int64, len(d.s.cluster.Nodes))
	answers := map[string]string{}
	if d.w.moving == allCalls {
		d.renumber() // here, so that the scores for normalize have the rows of its call
	}
	for part, numbering := range d.held.parts {
		for _, rows := range d.cuts(p, numbering, nodes) {
			a := &ask{point: p, rows: rows, part: part, state: d.state}
			for _, row := range rows {
				if input != nil {
					a.input = append(a.input, input[numbering.Nodes[row]])
				}
			}
			r, err := d.callHeld(ctx, a)
			if err != nil {
				return nil, nil, err
			}
			if r == nil || r.code != abi.Success {
				d.result(p, r)
				return nil, nil, nil
			}
			for i, row := range rows {
				scores[numbering.Nodes[row]] = r.call.Scores[i]
				answer := fmt.Sprint(r.call.Scores[i])
				if p == abi.Filter {
					answer = abi.Code(r.call.Codes[i]).String()
					d.reasons[r.nodes[i]] = reasonsOf(r.call, i)
				}
				answers[r.nodes[i]] = answer
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		d.say(p, name, answers[name])
	}
	return answers, scores, nil
}

// again asks filter once more, in ways that keep instances: a what-if has a copy of the state, so it changes nothing
// for the nodes that are there.
func (d *drive) again(ctx context.Context) error {
	if d.w.fresh != never || d.over || d.verdicts == nil || d.s.whatIf < 0 {
		return nil
	}
	first, script := d.verdicts, d.script
	answers, _, err := d.perNode(ctx, abi.Filter, d.standing, nil)
	d.script = script
	wrong := ""
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if got, ok := answers[name]; ok && got != first[name] && wrong == "" {
			wrong = fmt.Sprintf("%s: filter of %s is %s after a what-if, and was %s", d.s.name, name, got, first[name])
		}
	}
	d.k.looked(dutyRepeated, wrong)
	return err
}

// reasonsOf returns the reasons of an element; empty for none.
func reasonsOf(c *wire.CallView, i int) string {
	if c.Codes[i] == 0 || c.Reasons[i] == 0 {
		return ""
	}
	return strings.Join(c.ReasonSets[c.Reasons[i]-1], "; ")
}

// rowsOf returns the rows of nodes in an instance.
func rowsOf(numbering *image.Numbering, nodes []int) []uint32 {
	var rows []uint32
	for row, n := range numbering.Nodes {
		if slices.Contains(nodes, n) {
			rows = append(rows, uint32(row))
		}
	}
	return rows
}

// blockRows is what no call of scope node crosses a multiple of (ABI-5.4).
const blockRows = 1024

// cuts divides the rows of nodes among calls. There is always a call, even without rows. No call of scope node crosses
// a multiple of 1,024 of the host's row numbers (ABI-5.4).
func (d *drive) cuts(p abi.Point, numbering *image.Numbering, nodes []int) [][]uint32 {
	rows := rowsOf(numbering, nodes)
	if d.k.man.Scope(p) != abi.ScopeNode || len(rows) == 0 {
		return [][]uint32{rows}
	}
	parts := 1
	if d.w.split {
		parts += d.random.IntN(4)
	}
	var out [][]uint32
	for len(rows) > 0 {
		block := (numbering.Base + rows[0]) / blockRows
		n := len(rows)
		if at := slices.IndexFunc(rows, func(row uint32) bool { return (numbering.Base+row)/blockRows != block }); at >= 0 {
			n = at
		}
		calls := make([][]uint32, parts)
		for _, row := range rows[:n] {
			i := d.random.IntN(parts)
			calls[i] = append(calls[i], row)
		}
		out, rows = append(out, calls...), rows[n:]
	}
	return slices.DeleteFunc(out, func(c []uint32) bool { return len(c) == 0 })
}

// callHeld is call with the current numbering of the cycle's instances.
func (d *drive) callHeld(ctx context.Context, a *ask) (*reply, error) {
	moving := d.w.moving
	if moving == allCalls {
		d.w.moving = auxCalls
	}
	r, err := d.call(ctx, a)
	d.w.moving = moving
	return r, err
}

// patch shows later points the pod with its patches (ABI-5.15).
func (d *drive) patch(p abi.Point, r *reply) {
	for _, directive := range r.call.Directives {
		m := &d.pod.Metadata
		switch {
		case !counts(p, r.code, directive.Kind):
		case directive.Kind == abi.Annotate:
			m.Annotations = with(m.Annotations, directive.First, directive.Second)
		case directive.Kind == abi.Label:
			m.Labels = with(m.Labels, directive.First, directive.Second)
		}
	}
}

// left records what is left in the state, except for keys that may hold ids (ABI-7.10).
func (d *drive) left() {
	for _, key := range slices.Sorted(maps.Keys(d.state.values)) {
		if !slices.Contains(d.k.man.CycleLocal, key) {
			d.say(abi.NumPoints, fmt.Sprintf("key %q", key), fmt.Sprintf("%q", d.state.values[key]))
		}
	}
}
