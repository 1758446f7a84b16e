package wasm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
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

// TestHugeOther: a victim whose record no instance can take is a fault in its cycle, and costs
// later cycles nothing.
func TestHugeOther(t *testing.T) {
	p := newPlugin(t, wasm.Config{Limits: sandbox.Limits{OwnMemory: 1 << 20, TotalMemory: 4 << 20}},
		native(nil, abi.ExportPreFilter, abi.ExportFilter, abi.ExportAddPod, abi.ExportRemovePod), &wire.Manifest{
			Points: wire.ManifestPoints{PreFilter: &wire.ManifestPoint{}, Filter: &wire.ManifestPoint{}, AddPod: &wire.ManifestPoint{}, RemovePod: &wire.ManifestPoint{}},
			Reads:  wire.ManifestReads{Pod: []string{"tolerations"}},
		})
	w := newWorld(3)
	cycle := func(faults int64, tolerations ...int) {
		t.Helper()
		c := w.cycle(incoming("a", "p", 0))
		p.PreFilter(c)
		for _, n := range tolerations {
			object := podObject("a", "victim", "n0")
			object.Spec.Tolerations = slices.Repeat([]v1.Toleration{{Operator: v1.TolerationOpExists}}, n)
			overlay := w.snap.Overlay(0)
			p.RemovePod(c, overlay, state.NewPod(object))
			w.snap.DropOverlays()
		}
		if got := verdicts(filter(p, c, w.rows())); got != "Success Success Success" || p.Faults() != faults {
			t.Errorf("victims with %d tolerations: %s, %d faults, want %d", tolerations, got, p.Faults(), faults)
		}
	}
	cycle(0, 1)
	cycle(0, 30_000)
	cycle(1, 200_000)
	cycle(1, 1)
	cycle(1)
}
