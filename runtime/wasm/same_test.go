package wasm_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// judge is a guest that rejects nodes, with reasons, by what it reads of them. It does not depend
// on ids, slots and row numbers.
func judge(g *tiny, _ string, call, lo, hi uint32) int32 {
	snap, err := wire.DecodeSnapshot(g.memory, g.u32(call))
	if err != nil {
		panic(err)
	}
	const table = 64 // reason sets, then texts, then bytes
	at := uint32(1024)
	sets := uint32(0)
	for i, row := range g.asked(call, lo, hi) {
		h := fnv.New32()
		cells := mustRow(snap, row)
		for _, key := range slices.Sorted(maps.Keys(cells)) {
			fmt.Fprintln(h, key, cells[key])
		}
		kind := h.Sum32() % 5
		code := []abi.Code{abi.Success, abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending}[kind]
		g.memory[g.u32(call+abi.CallCodes)+uint32(i)] = byte(code)
		if kind < 2 || sets == 100 {
			continue
		}
		text := fmt.Sprintf("zone %s, kind %d", cells["14.0"], kind)
		copy(g.memory[at+8:], text)
		g.put32(at, at+8)
		g.put32(at+4, uint32(len(text)))
		g.put32(table+8*sets, at)
		g.put32(table+8*sets+4, 1)
		at += 8 + uint32(len(text)+7)&^7
		sets++
		g.memory[g.u32(call+abi.CallReasons)+2*uint32(i)] = byte(sets)
	}
	g.put32(call+abi.CallReasonSets, table)
	g.put32(call+abi.CallReasonCount, sets)
	return 0
}

func mustRow(snap *wire.Snapshot, row uint32) map[string]string {
	cells, err := snap.Row(abi.TableNodes, row)
	if err != nil {
		panic(err)
	}
	return cells
}

// TestSameAnswers: a case gives the same answers in one instance, with a fresh instance for every
// call, with its rows in another order, split over calls, and split over instances.
func TestSameAnswers(t *testing.T) {
	man := &wire.Manifest{
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: "node"}},
		Reads:  wire.ManifestReads{Node: []string{"name", "requested"}, NodeLabels: []string{"zone"}, Resources: []string{"cpu", "pods"}},
	}
	build := func(backwards bool, nodes int) *world {
		w := newWorld(0)
		for i := range nodes {
			if backwards {
				i = nodes - 1 - i
			}
			w.cache.AddNode(state.NewNode(nodeObject(nodeName(i))))
		}
		for i := range 50 {
			w.place(t, podObject("a", fmt.Sprint("p", i), nodeName(i*i%nodes)))
		}
		return w
	}
	answers := func(w *world, shards int, fresh bool, split func(rows []uint32) [][]uint32) map[string]string {
		f := native(judge, abi.ExportFilter)
		p := newPlugin(t, wasm.Config{Shards: shards, VerifyEvery: 1}, f, man)
		out := map[string]string{}
		c := w.cycle(incoming("a", "p", 0))
		for _, rows := range split(w.rows()) {
			if fresh {
				p = newPlugin(t, wasm.Config{Shards: shards}, f, man)
			}
			v := filter(p, c, rows)
			for i, row := range rows {
				out[w.snap.Name(row)] = fmt.Sprint(v.Codes[i], v.Texts(i))
			}
		}
		return out
	}
	whole := func(rows []uint32) [][]uint32 { return [][]uint32{rows} }
	blocks := func(rows []uint32) (out [][]uint32) {
		for at := 0; at < len(rows); at += 1024 {
			out = append(out, rows[at:min(at+1024, len(rows))])
		}
		return out
	}
	thirds := func(rows []uint32) [][]uint32 { // row sets with gaps
		out := make([][]uint32, 3)
		for _, row := range rows {
			out[row%3] = append(out[row%3], row)
		}
		return out
	}
	singly := func(rows []uint32) (out [][]uint32) {
		for i := range rows {
			out = append(out, rows[i:i+1])
		}
		return out
	}
	for _, nodes := range []int{60, 2500} {
		w := build(false, nodes)
		// At most 100 reason sets per call, so that answers do not depend on calls.
		few := func(split func([]uint32) [][]uint32) func([]uint32) [][]uint32 {
			return func(rows []uint32) (out [][]uint32) {
				for _, part := range split(rows) {
					for at := 0; at < len(part); at += 64 {
						out = append(out, part[at:min(at+64, len(part))])
					}
				}
				return out
			}
		}
		want := answers(w, 0, false, few(whole))
		got := map[string]map[string]string{
			"again":          answers(w, 0, false, few(whole)),
			"rows backwards": answers(build(true, nodes), 0, false, few(whole)),
			"thirds":         answers(w, 0, false, few(thirds)),
			"two shards":     answers(w, 2, false, few(blocks)),
			"three shards":   answers(build(true, nodes), 3, false, few(thirds)),
		}
		if nodes < 100 {
			got["fresh"], got["singly, fresh"] = answers(w, 0, true, few(whole)), answers(w, 0, true, singly)
			got["singly"] = answers(w, 0, false, singly)
		}
		for name, got := range got {
			if !maps.Equal(got, want) {
				for node := range want {
					if got[node] != want[node] {
						t.Errorf("%d nodes, %s: %s is %s, want %s", nodes, name, node, got[node], want[node])
						break
					}
				}
			}
		}
	}
}
