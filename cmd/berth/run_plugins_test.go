package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestPluginMetrics: what a status says is what is measured.
func TestPluginMetrics(t *testing.T) {
	status := assembly.Status{Plugins: []assembly.PluginStatus{
		{Profile: "a", Status: wasm.Status{
			Name: "one", Digest: "sha256:1", Breaker: wasm.Open, Opened: 2,
			Work: []wasm.Work{{Point: abi.Filter, Fuel: 10, Faults: []wasm.FaultCount{{Kind: wasm.Trap, Count: 3}}}},
		}},
		{Profile: "b", Status: wasm.Status{Name: "one", Digest: "sha256:1"}},
	}}
	breakers, guests := pluginsOf(status)
	a, b := telemetry.PluginOf{Plugin: "one", Profile: "a"}, telemetry.PluginOf{Plugin: "one", Profile: "b"}
	if diff := cmp.Diff([]telemetry.Breaker{{PluginOf: a, Digest: "sha256:1", Open: true, Opened: 2}, {PluginOf: b, Digest: "sha256:1"}}, breakers); diff != "" {
		t.Error(diff)
	}
	want := []telemetry.Guest{{PluginOf: a, Digest: "sha256:1", Point: "Filter", Fuel: 10, Faults: map[string]int64{"trap": 3}}}
	if diff := cmp.Diff(want, guests); diff != "" {
		t.Error(diff)
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
