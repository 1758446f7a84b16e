package follow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// TestMeter: what both versions do is counted from the first look, each pod for the version that decided for it. A rejection of the
// chosen node counts apart, and a trial or version that was started again counts from its start.
func TestMeter(t *testing.T) {
	m, step := &Meter{}, Step{Canary: "p@canary", Stable: "p", Number: 1}
	m.Watch(step, Totals{
		Canary: rollout.Used{Calls: 1, Rows: 10, Fuel: 100}, Trial: rollout.Used{Calls: 2, Rows: 20, Fuel: 200},
		Stable: rollout.Used{Calls: 50, Rows: 500, Fuel: 5000}, Again: rollout.Again{Compared: 9, Placed: 2, Changed: 1, Lost: 1},
	})
	did := func(plugin string, point abi.Point, code abi.Code, faults int64) []report.Timing {
		return []report.Timing{{Plugin: plugin, Point: point, Code: code, Faults: faults, Calls: 1}, {Plugin: "other", Point: point}}
	}
	for _, plugin := range []string{"p", "p@canary", "other"} {
		m.Attempted(&report.Attempt{Sequence: 1, Node: "n", Timings: did(plugin, abi.Filter, 0, 1)}, nil)
		m.Ended(&report.Ending{Sequence: 1, Timings: did(plugin, abi.Reserve, 0, 1)}) // the same attempt
		for _, by := range []string{plugin, "more"} {
			rejections := []report.Rejection{{Plugin: by}}
			m.Attempted(&report.Attempt{Code: abi.Unschedulable, Timings: did(plugin, abi.Filter, 0, 0), Rejections: rejections}, nil)
		}
		m.Attempted(&report.Attempt{Code: abi.Unschedulable, Timings: did(plugin, abi.PreFilter, abi.Unschedulable, 0)}, nil)
		m.Attempted(&report.Attempt{Code: abi.Unschedulable, Timings: did(plugin, abi.PostFilter, abi.Unschedulable, 0)}, nil)
		m.Ended(&report.Ending{Sequence: 2, Code: abi.Unschedulable, Timings: did(plugin, abi.Permit, abi.Unschedulable, 0)})
	}
	want := rollout.Tally{Attempts: 5, Faulted: 1, Pending: 3, Late: 1}
	its, stable := want, want
	its.Used, stable.Used = rollout.Used{Calls: 4, Rows: 40, Fuel: 400}, rollout.Used{Calls: 7, Rows: 70, Fuel: 700}
	got := m.Watch(step, Totals{
		Canary: rollout.Used{Calls: 2, Rows: 20, Fuel: 200}, Trial: rollout.Used{Calls: 5, Rows: 50, Fuel: 500},
		Stable: rollout.Used{Calls: 7, Rows: 70, Fuel: 700}, Again: rollout.Again{Compared: 19, Placed: 7, Changed: 4, Lost: 2, Won: 1},
	})
	all := rollout.Counts{Tally: its, Stable: stable, Again: rollout.Again{Compared: 10, Placed: 5, Changed: 3, Lost: 1, Won: 1}}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
	if again := m.Watch(step, Totals{Again: rollout.Again{Compared: 2, Changed: 2}}).Again; again != (rollout.Again{Compared: 2, Changed: 2}) {
		t.Errorf("a trial that began again: %+v", again)
	}
}
