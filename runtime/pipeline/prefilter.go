package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PreFilter runs the PreFilter plugins. It returns the rows that can fit, or nil
// for all, and the plugins that narrowed them down.
//
// Unschedulable lets the others run, since preemption may follow;
// UnschedulableAndUnresolvable and Error end the point.
func (r *Run) PreFilter() (rows []uint32, narrowedBy []string, status *plugin.Status) {
	watch := clock.Start()
	rows, narrowedBy, status = r.preFilter()
	r.subset = rows
	r.ran(abi.PreFilter, status, watch)
	return rows, narrowedBy, status
}

func (r *Run) preFilter() (rows []uint32, narrowedBy []string, status *plugin.Status) {
	narrowed := false
	for _, s := range r.own.preFilter {
		if r.skipFilter[s.index] {
			continue
		}
		watch := clock.Start()
		var subset []uint32
		answer := r.p.ask(s.info, abi.PreFilter, func() (answer *plugin.Status) {
			subset, answer = s.plugin.PreFilter(&r.Cycle)
			return answer
		})
		r.timings.add(s.index, abi.PreFilter, 0, answer.CodeOf(), watch.Elapsed())
		r.heldOnWord = r.heldOnWord || answer.Rejected() && s.info.Namespaces != nil
		r.rejected = r.rejected || answer.Is(abi.UnschedulableAndUnresolvable) || answer.Rejected() && s.info.Namespaces == nil
		switch answer.CodeOf() {
		case abi.Success:
		case abi.Skip:
			r.skipFilter[s.index] = true
			continue
		case abi.Unschedulable:
			status = answer.By(s.info.Name)
			continue
		case abi.UnschedulableAndUnresolvable:
			return nil, nil, answer.By(s.info.Name)
		default:
			return nil, nil, failed("PreFilter", s.info.Name, answer)
		}
		if subset == nil {
			continue
		}
		narrowedBy = append(narrowedBy, s.info.Name)
		if narrowed {
			rows = intersect(rows, subset)
		} else {
			rows, narrowed = subset, true
		}
		// Nodes that one plugin alone wants and that are not there fit no pod, but are
		// no reason to stop: kube-scheduler looks for them by name, and later.
		if len(rows) == 0 && len(narrowedBy) > 1 {
			status := plugin.NewStatus(abi.UnschedulableAndUnresolvable, noCommonNode(narrowedBy))
			return rows, narrowedBy, status.By(slices.Min(narrowedBy))
		}
	}
	return rows, narrowedBy, status
}

func noCommonNode(plugins []string) string {
	return fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s] simultaneously", joinSorted(plugins))
}

// LeftOutReason is the reason given for nodes that PreFilter plugins left out.
func LeftOutReason(plugins []string) string {
	return fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", joinSorted(plugins))
}

func joinSorted(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), " ")
}

// intersect returns the elements that two ascending lists have in common.
func intersect(a, b []uint32) []uint32 {
	out := make([]uint32, 0, min(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			out = append(out, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// failed turns an answer that is no verdict into an Error.
func failed(point, name string, answer *plugin.Status) *plugin.Status {
	err := answer.AsError()
	if err == nil {
		err = fmt.Errorf("unexpected status %s", answer.CodeOf())
	}
	return plugin.Fail(fmt.Errorf("running %s plugin %q: %w", point, name, err)).By(name)
}
