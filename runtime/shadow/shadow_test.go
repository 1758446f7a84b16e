package shadow

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// decision is one for a pod: a node, or none with a code and victims on another node.
func decision(node string, code abi.Code, victims ...string) *cycle.Decision {
	d := &cycle.Decision{
		Pod:     &state.QueuedPod{Pod: state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})},
		Attempt: &report.Attempt{Sequence: 7, Victims: victims},
	}
	if node != "" {
		d.Node = state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		return d
	}
	d.Status, d.Attempt.Message = plugin.NewStatus(code, "no"), "no"
	if len(victims) > 0 {
		d.Attempt.Nominated = "n-9"
	}
	return d
}

// TestCompare: each pair of outcomes is of one kind.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		was, would *cycle.Decision
		want       Kind
	}{
		{decision("a", 0), decision("a", 0), Same},
		{decision("a", 0), decision("b", 0), Elsewhere},
		{decision("a", 0), decision("", abi.Unschedulable), Pending},
		{decision("", abi.Unschedulable), decision("a", 0), Placed},
		{decision("", abi.Unschedulable), decision("", abi.UnschedulableAndUnresolvable), Same},
		{decision("", abi.Unschedulable), decision("", abi.Unschedulable, "ns/v"), Preemption},
		{decision("", abi.Unschedulable, "ns/v"), decision("", abi.Unschedulable, "ns/v"), Same},
		{decision("", abi.Unschedulable, "ns/v"), decision("", abi.Unschedulable, "ns/w"), Preemption},
		{decision("", abi.Unschedulable, "ns/v"), decision("", abi.Error), Failed},
		{decision("a", 0), decision("", abi.Error), Failed},
		{decision("", abi.Error), decision("", abi.Error), Same},
		{decision("", abi.Error), decision("a", 0), Placed},
	} {
		if got := compare(c.was, c.would); got != c.want {
			t.Errorf("%+v, then %+v: %s, expected %s", outcome(c.was), outcome(c.would), got, c.want)
		}
	}
}

// TestWhy: a difference says which plugin makes it, and how.
func TestWhy(t *testing.T) {
	snapshot := state.NewSnapshot()
	scored := func(node string, total, given int64) report.Candidate {
		return report.Candidate{Node: node, Total: total, Scores: []report.Score{{Plugin: "other", Weighted: total - given}, {Plugin: "next", Weighted: given}}}
	}
	with := func(d *cycle.Decision, best ...report.Candidate) *cycle.Decision {
		d.Attempt.Candidates = best
		return d
	}
	for want, c := range map[string]struct{ was, would *cycle.Decision }{
		"b scores 50 and a 40 (next: 20 more)": {decision("a", 0), with(decision("b", 0), scored("b", 50, 30), scored("a", 40, 10))},
		"b and a score the same, 50":           {decision("a", 0), with(decision("b", 0), scored("b", 50, 30), scored("a", 50, 10))},
		"b scores 50 and a at most 50":         {decision("a", 0), with(decision("b", 0), scored("b", 50, 30))},
		"no":                                   {decision("a", 0), decision("", abi.Error)},
	} {
		kind := compare(c.was, c.would)
		if got := difference(snapshot, c.was, c.would, kind).Why; got != want {
			t.Errorf("%s: %q, expected %q", kind, got, want)
		}
	}
}

// TestBudget: trials take their share of the time, save up little, and pay for what they took too
// much.
func TestBudget(t *testing.T) {
	b := budget{share: 0.5, watch: clock.Start()}
	b.at = -time.Hour // as if nothing had been tried for so long
	if !b.left() || b.saved != most {
		t.Errorf("%v is saved after an hour", b.saved)
	}
	b.spend(time.Hour)
	if b.left() {
		t.Errorf("%v is left after an hour of trials", b.saved)
	}
	if b = (budget{share: 1, watch: clock.Start(), saved: -time.Hour}); !b.left() {
		t.Error("a share of 1 has a limit")
	}
}
