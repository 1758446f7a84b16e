package app

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestPluginMetrics: what a status says is what is measured.
func TestPluginMetrics(t *testing.T) {
	status := assembly.Status{Plugins: []assembly.PluginStatus{
		{Profile: "a", Status: wasm.Status{
			Name: "one", Digest: "sha256:1", Breaker: breaker.Status{State: breaker.Open, Opened: 2, Namespaces: []breaker.NamespaceStatus{{Namespace: "x"}}},
			Work: []wasm.Work{{Point: abi.Filter, Fuel: 10, Faults: []wasm.FaultCount{{Kind: fault.Trap, Count: 3}}}},
		}},
		{Profile: "b", Status: wasm.Status{Name: "one", Digest: "sha256:1", Started: wasm.StartCounts{First: 4, Lost: 5, Resized: 6}}},
	}}
	breakers, guests := pluginsOf(status)
	a, b := telemetry.PluginOf{Plugin: "one", Profile: "a"}, telemetry.PluginOf{Plugin: "one", Profile: "b"}
	if diff := cmp.Diff([]telemetry.Breaker{
		{PluginOf: a, Digest: "sha256:1", Open: true, Opened: 2, Namespaces: []string{"x"}, Starts: map[string]int64{"first": 0,
			"lost": 0, "resized": 0}},
		{PluginOf: b, Digest: "sha256:1", Starts: map[string]int64{"first": 4, "lost": 5, "resized": 6}},
	}, breakers); diff != "" {
		t.Error(diff)
	}
	want := []telemetry.Guest{{PluginOf: a, Digest: "sha256:1", Point: "Filter", Fuel: 10, Faults: map[string]int64{"trap": 3}}}
	if diff := cmp.Diff(want, guests); diff != "" {
		t.Error(diff)
	}
}

// TestFaultsOfStatus: calls that an open breaker prevented, or that ended because the scheduler
// stops, are no faults.
func TestFaultsOfStatus(t *testing.T) {
	faults := []wasm.FaultCount{{Kind: fault.BreakerOpen, Count: 80}, {Kind: fault.OutOfFuel, Count: 2}, {Kind: fault.Interrupted, Count: 1}, {Kind: fault.Trap, Count: 3}}
	var none *yanks
	got := none.describe(assembly.Status{Plugins: []assembly.PluginStatus{{Status: wasm.Status{Work: []wasm.Work{
		{Point: abi.PreEnqueue, Calls: 5, Faults: faults}, {Point: abi.Filter, Calls: 2, Faults: faults[1:2]},
	}}}}}, nil)
	if len(got.Plugins) != 1 || got.Plugins[0].Faults != 7 || got.Plugins[0].Calls != 7 {
		t.Errorf("%+v, want 7 calls and 7 faults", got.Plugins)
	}
}

// TestFolderMetrics: a module that was refused is measured, also where its last good
// version is at work.
func TestFolderMetrics(t *testing.T) {
	bad := errors.New("no module")
	got := refusedOf([]assembly.FolderStatus{{Path: "a.wasm", Plugin: "a"}, {Path: "b.wasm", Err: bad}, {Path: "c.wasm", Plugin: "c", Err: bad}})
	if diff := cmp.Diff(map[string]bool{"a.wasm": false, "b.wasm": true, "c.wasm": true}, got); diff != "" {
		t.Error(diff)
	}
}

// TestParts: what is told in events of plugins whose breaker is open and of modules that
// are refused.
func TestParts(t *testing.T) {
	parts := partsOf(assembly.Status{Plugins: []assembly.PluginStatus{
		{Profile: "a", Status: wasm.Status{
			Name: "one", Digest: "sha256:1", Breaker: breaker.Status{
				State: breaker.Open, Opened: 2, Cause: "5 calls in a row were faulted",
				LastFault: &fault.Fault{Origin: fault.Origin{Plugin: "one"}, Point: abi.Filter, Kind: fault.Trap, Detail: "unreachable"},
			},
		}},
		{Profile: "b", Status: wasm.Status{Name: "one", Digest: "sha256:1"}},
		{Profile: "c", Status: wasm.Status{Name: "one", Breaker: breaker.Status{State: breaker.HalfOpen, Opened: 1}}},
		{Profile: "d", Status: wasm.Status{Name: "one", Breaker: breaker.Status{Opened: 1, Cause: "x", Namespaces: []breaker.NamespaceStatus{{Namespace: "y"}}}}},
		{Profile: "e", Status: wasm.Status{Name: "one", Breaker: breaker.Status{
			State: breaker.Open, Opened: 1, Cause: "x", Everybody: true, Namespaces: []breaker.NamespaceStatus{{Namespace: "y"}, {Namespace: "z"}},
		}}},
	}}, []assembly.FolderStatus{
		{Path: "a.wasm", Plugin: "a", Digest: "sha256:a"},
		{Path: "b.wasm", Err: errors.New("no module")},
		{Path: "c.wasm", Plugin: "c", Digest: "sha256:c", Err: errors.New("no module")},
	})
	var got []string
	for _, p := range parts {
		state, n := "works", p.Recovery
		if p.Failed {
			state, n = "failed", p.Failure
		}
		got = append(got, fmt.Sprintf("%s %d %s %s: %s", state, p.Times, n.Reason, n.Action, n.Note))
	}
	want := []string{
		"failed 2 PluginBreakerOpened Calling: plugin one of profile a is temporarily not called: 5 calls in a row were faulted; fault of plugin one at Filter: trap: unreachable",
		"works 0 PluginBreakerClosed Calling: plugin one of profile b is called again and works",
		"failed 1 PluginBreakerOpened Calling: plugin one of profile c is temporarily not called: ",
		"failed 1 PluginBreakerOpened Calling: plugin one of profile d is temporarily not called for pods of namespace y: x",
		"failed 1 PluginBreakerOpened Calling: plugin one of profile e is temporarily not called for pods of any namespace: x",
		"works 0 ModuleAccepted Loading: module a.wasm runs as plugin a (sha256:a)",
		"failed 0 ModuleRefused Loading: module b.wasm is not used, no version of it runs: no module",
		"failed 0 ModuleRefused Loading: module c.wasm is not used, its previous version sha256:c still runs: no module",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
