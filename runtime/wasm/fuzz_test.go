package wasm_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// FuzzAnswers: whatever a guest writes into its memory and returns, the host does not panic: it
// takes answers that are in range, or reports a fault of that plugin and point.
func FuzzAnswers(f *testing.F) {
	f.Add(int32(0), []byte{}, []byte{}, uint32(0))
	f.Add(int32(0), []byte{64, 0, 0, 0, 1, 0, 0, 0, 0, 16, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, []byte{2, 2, 9}, uint32(64))
	f.Add(int32(-1), []byte{255, 255, 255, 255, 255, 255, 255, 255}, []byte{2, 0, 1, 0}, uint32(4096))
	f.Add(int32(5), []byte{0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0, 1}, []byte{1, 1, 1}, uint32(1024))
	man := &wire.Manifest{
		Points: wire.ManifestPoints{
			PreFilter: &wire.ManifestPoint{}, Filter: &wire.ManifestPoint{}, PreScore: &wire.ManifestPoint{},
			Score: &wire.ManifestPoint{}, Normalize: &wire.ManifestPoint{},
		},
		Reads: wire.ManifestReads{Node: []string{"name", "pods", "labels"}, Pods: []string{"labels"}},
	}
	w := newWorld(4)
	w.place(f, podObject("a", "p", "n1"))
	f.Fuzz(func(t *testing.T, result int32, record, answers []byte, at uint32) {
		evil := native(func(g *tiny, _ string, call, lo, hi uint32) int32 {
			copy(g.memory[call+abi.CallGuestStart:], record)
			copy(g.memory[g.u32(call+abi.CallCodes):], answers)
			copy(g.memory[g.u32(call+abi.CallReasons):], answers)
			copy(g.memory[g.u32(call+abi.CallScores):], answers)
			copy(g.memory[at%uint32(len(g.memory)):], record)
			return result
		}, abi.ExportPreFilter, abi.ExportFilter, abi.ExportPreScore, abi.ExportScore, abi.ExportNormalize)
		p := newPlugin(t, wasm.Config{}, evil, man)
		c := w.cycle(incoming("a", "q", 0))
		for range 2 { // the second time into a region that the guest has written over
			rows, status := p.PreFilter(c)
			for i, row := range rows {
				if int(row) >= w.snap.Len() || i > 0 && row <= rows[i-1] {
					t.Fatalf("rows %v", rows)
				}
			}
			sane(t, status)
			var v plugin.Verdicts
			v.Reset(4)
			p.Filter(c, w.rows(), &v)
			for i, code := range v.Codes {
				if code != abi.Success && code != abi.Error && !code.Rejected() {
					t.Fatalf("code %s", code)
				}
				sane(t, &plugin.Status{Reasons: v.Texts(i)})
			}
			p.Filter(c, []uint32{0, 2}, func() *plugin.Verdicts { v.Reset(2); return &v }())
			overlay := w.snap.Overlay(1)
			p.Filter(c, []uint32{overlay}, func() *plugin.Verdicts { v.Reset(1); return &v }())
			w.snap.DropOverlays()
			scores := make([]int64, 4)
			sane(t, p.PreScore(c, w.rows()))
			sane(t, p.Score(c, w.rows(), scores))
			if status := p.Normalize(c, w.rows(), scores); status.Success() {
				for _, s := range scores {
					if s < 0 || s > 100 {
						t.Fatalf("scores %v", scores)
					}
				}
			}
			c = w.cycle(incoming("a", "q", 0))
		}
	})
}

// sane checks the limits of texts.
func sane(t *testing.T, s *plugin.Status) {
	t.Helper()
	if s == nil {
		return
	}
	total := 0
	for _, text := range s.Reasons {
		total += len(text)
		if strings.ToValidUTF8(text, "") != text || len(text) > 4096 {
			t.Fatalf("text %q", text)
		}
	}
	if len(s.Reasons) > abi.MaxReasonTexts+1 || total > abi.MaxTextsSize {
		t.Fatalf("%d texts of %d bytes", len(s.Reasons), total)
	}
}

// FuzzModule: no module makes Load panic.
func FuzzModule(f *testing.F) {
	for _, name := range []string{"good", "load_no_memory", "load_memory_imported", "proc_exit", "load_start_traps"} {
		fixture := readFixture(f, "testdata/"+name+".wat")
		f.Add(fixture.module(f))
	}
	man := manifest(f, `{"filter":{}}`, `{"pod":["priority"],"node":["generation"]}`, "[]")
	r := newRuntime(f, sandbox.RuntimeConfig{Interpreter: true})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		if m, err := wire.ReadModule(data); err != nil || wire.Check(m, man, "") != nil {
			return // the structural limits come first: wazero has none of its own
		}
		module, err := r.Load(t.Context(), data)
		if err != nil {
			return
		}
		defer module.Close(t.Context())
		// It is not called: without fuel a guest may never return.
		if !module.Exports(abi.Filter) || module.Exports(abi.Score) {
			t.Error("the exports are not those that were checked")
		}
	})
}
