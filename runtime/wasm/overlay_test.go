package wasm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestLargeOverlay: a hypothetical node with more pods than there is room for makes the region
// grow within the cycle. It is not a fault.
func TestLargeOverlay(t *testing.T) {
	watched := &spy{Factory: native(nil, abi.ExportFilter)}
	p := newPlugin(t, wasm.Config{}, watched, &wire.Manifest{
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}},
		Reads:  wire.ManifestReads{Node: []string{"name", "pods", "requested"}, Pods: []string{"labels"}, Resources: []string{"pods"}},
	})
	w := newWorld(3)
	c := w.cycle(incoming("a", "p", 0))
	filter(p, c, w.rows())
	o := w.snap.Overlay(1)
	for i := range 3000 {
		w.snap.AddPod(o, state.NewPod(podObject("a", fmt.Sprint("extra", i), "")))
	}
	if got := verdicts(filter(p, c, []uint32{o})); got != "Success" || p.Faults() != 0 {
		t.Fatalf("got %s, %d faults", got, p.Faults())
	}
	_, snap := watched.alive()[0].decode(t)
	row := decoded(t, snap, snap.Table(abi.TableNodes).Capacity)
	if row["4.0"] != "3000" || strings.Count(row["pods"], "\n") != 2999 || row["1.0"] != `"n1"` {
		t.Errorf("got %.300v", row)
	}
	w.snap.DropOverlays()
	if got := verdicts(filter(p, c, w.rows())); got != "Success Success Success" {
		t.Error(got)
	}
	c = w.cycle(incoming("a", "q", 0))
	filter(p, c, w.rows())
	_, snap = watched.alive()[0].decode(t)
	if left := orphans(t, snap); len(left) > 0 {
		t.Errorf("%d slots are not empty: %s", len(left), left[0])
	}
}

// TestRowsAndOverlays: overlay rows are called one at a time, and never with other rows.
func TestRowsAndOverlays(t *testing.T) {
	type asked struct {
		lo, hi, n, flags uint32
		set              bool
	}
	var got []asked
	p := newPlugin(t, wasm.Config{}, native(func(g *tiny, _ string, call, lo, hi uint32) int32 {
		got = append(got, asked{lo, hi, g.u32(call + abi.CallRowCount), g.u32(call + abi.CallFlags), g.u32(call+abi.CallRows) != 0})
		return 0
	}, abi.ExportFilter), &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}})
	w := newWorld(5)
	c := w.cycle(incoming("a", "p", 0))
	one, two := w.snap.Overlay(0), w.snap.Overlay(3)
	filter(p, c, []uint32{1, 2, 4, one, two})
	want := []asked{{1, 5, 3, 0, true}, {64, 65, 1, 1, false}, {64, 65, 1, 1, false}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
