package wasm_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// globals is a plugin of testdata/guests whose answers are set through globals. The same instance
// serves until it is faulted.
type globals struct {
	*wasm.Plugin
	spy *spy
	t   *testing.T
}

func fromGlobals(t *testing.T, name string, c wasm.Config) *globals {
	t.Helper()
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/"+name)
	s := &spy{Factory: module}
	return &globals{Plugin: newPlugin(t, c, s, man), spy: s, t: t}
}

// set sets globals before the next call of a point, "name=value …".
func (g *globals) set(values string) {
	g.spy.before = func(guest *spied, _ abi.Point, _, _, _ uint32) {
		for _, entry := range strings.Fields(values) {
			var v int64
			name, text, _ := strings.Cut(entry, "=")
			if _, err := fmt.Sscan(text, &v); err != nil {
				g.t.Fatal(err)
			}
			global := mutable(guest.Guest, name)
			if global.Type() == api.ValueTypeI32 {
				v = int64(uint32(v))
			}
			global.Set(uint64(v))
		}
	}
}

// mutable returns a mutable global that an instance exports.
func mutable(g sandbox.Guest, name string) api.MutableGlobal {
	return g.(interface {
		Global(name string) api.MutableGlobal
	}).Global(name)
}

func (g *globals) get(name string) int32 {
	alive := g.spy.alive()
	return int32(mutable(alive[len(alive)-1].Guest, name).Get())
}

// TestFilterFromGlobal: codes, reasons and the result of the call as a whole.
func TestFilterFromGlobal(t *testing.T) {
	p := fromGlobals(t, "filter_from_global", wasm.Config{})
	w := newWorld(2)
	for _, c := range []struct{ globals, want string }{
		{"", "Success Success"},
		{"code=2", "Unschedulable Unschedulable"},
		{"code=3 reason=1", `UnschedulableAndUnresolvable "busy" UnschedulableAndUnresolvable "busy"`},
		{"code=6 reason=2", `Pending "busy, windy" Pending "busy, windy"`},
		{"code=1 reason=1", `Error "busy"`},
		{"code=0 reason=9", "Success Success"}, // reasons of Success mean nothing
		{"code=2 reason=3", `Error "fault of plugin guest at Filter: bad-output: element 0 of the reasons is set 3, the call returned 2 (module sha256:…)"`},
		{"result=1 status=2 code=2", `Error "the plugin failed, busy, windy"`},
		{"result=1", `Error "the plugin failed"`},
		{"code=4", `Error "fault of plugin guest at Filter: bad-output: element 0 of the codes is 4 (Wait), which is not an answer of Filter (module sha256:…)"`},
		{"sets=1025", `Error "fault of plugin guest at Filter: bad-output: 1025 reason sets, the limit is 1024 (module sha256:…)"`},
		{"sets=1024", "Success Success"},
	} {
		p.set("code=0 reason=0 result=0 status=0 sets=2 " + c.globals)
		if got := verdicts(filter(p.Plugin, w.cycle(incoming("a", "p", 0)), w.rows())); got != c.want {
			t.Errorf("%s: got %s, want %s", c.globals, got, c.want)
		}
	}
}

// TestPreFilterFromGlobal: codes, reasons and row sets.
func TestPreFilterFromGlobal(t *testing.T) {
	p := fromGlobals(t, "prefilter_from_global", wasm.Config{})
	w := newWorld(5)
	for _, c := range []struct {
		globals string
		rows    []uint32
		code    abi.Code
		text    string
	}{
		{"", nil, abi.Success, ""},
		{"has=1 count=3", []uint32{0, 2, 4}, abi.Success, ""},
		{"has=1 count=0", []uint32{}, abi.Success, ""},
		{"has=0 count=3", nil, abi.Success, ""},
		{"has=1 count=4", nil, abi.Error, "not strictly ascending below 5 at element 3: 6"},
		{"has=1 count=6", nil, abi.Error, "the row set has 6 rows, the table 5"},
		{"has=1 count=3 address=-8", nil, abi.Error, "beyond the memory"},
		{"has=1 count=3 result=5", nil, abi.Skip, ""}, // rows count for Success only
		{"result=2", nil, abi.Unschedulable, ""},
		{"result=3", nil, abi.UnschedulableAndUnresolvable, ""},
		{"result=2 reason=1 sets=0", nil, abi.Error, "reason set 1 does not exist"},
		{"result=1", nil, abi.Error, ""},
		{"result=4", nil, abi.Error, "not an answer of it"},
	} {
		p.set("result=0 has=0 address=1024 count=0 reason=0 sets=0 " + c.globals)
		rows, status := p.PreFilter(w.cycle(incoming("a", "p", 0)))
		if !reflect.DeepEqual(rows, c.rows) || status.CodeOf() != c.code || !strings.Contains(status.Message(), c.text) {
			t.Errorf("%s: got %v %s %q", c.globals, rows, status.CodeOf(), status.Message())
		}
	}
}

// TestScoreFromGlobal: an exported normalize, and the meaning of faults of scoring.
func TestScoreFromGlobal(t *testing.T) {
	for _, c := range []struct {
		name, globals string
		policies      map[abi.Point]fault.Policy
		want          string
	}{
		{"raw scores may be anything", "score=-7000 step=7010 add=7000", nil, "Success / Success / [-7000 10 7020] / Success [0 0 0]"},
		{"normalize", "score=-7000 step=20 add=7000", nil, "Success / Success / [-7000 -6980 -6960] / Success [0 20 40]"},
		{"out of range, ignored", "score=100 add=1", nil, "Success / Success / [100 100 100] / Success [0 0 0]"},
		{"out of range", "score=100 add=1", map[abi.Point]fault.Policy{abi.Normalize: fault.Fail}, "Success / Success / [100 100 100] / Error"},
		{"a trap is ignored, and all scores of the cycle with it", "score=50 result=-1", nil, "Success / Success / [0 0 0] / Success [0 0 0]"},
		{"a trap", "score=50 result=-1", map[abi.Point]fault.Policy{abi.Score: fault.Fail}, "Success / Error / [0 0 0] / Success [0 0 0]"},
		{"a trap of normalize", "score=50 normalize=-1", nil, "Success / Success / [50 50 50] / Success [0 0 0]"},
		{"an error is no fault", "score=50 result=1", nil, "Success / Error / [0 0 0] / Success [0 0 0]"},
		{"skip", "prescore=5", nil, "Skip / Success / [0 0 0] / Success [0 0 0]"},
		{"pre_score fails", "prescore=1", nil, "Error / Success / [0 0 0] / Success [0 0 0]"},
		{"pre_score answers nonsense, ignored", "prescore=2", nil, "Skip / Success / [0 0 0] / Success [0 0 0]"},
		{"pre_score answers nonsense", "prescore=2", map[abi.Point]fault.Policy{abi.PreScore: fault.Fail}, "Error / Success / [0 0 0] / Success [0 0 0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fromGlobals(t, "score_from_global", wasm.Config{Policies: c.policies})
			p.set(c.globals)
			w := newWorld(3)
			cy := w.cycle(incoming("a", "p", 0))
			scores := make([]int64, 3)
			got := p.PreScore(cy, w.rows()).CodeOf().String() + " / " + p.Score(cy, w.rows(), scores).CodeOf().String()
			got += fmt.Sprint(" / ", scores, " / ")
			status := p.Normalize(cy, w.rows(), scores)
			if got += status.CodeOf().String(); status.Success() {
				got += fmt.Sprint(" ", scores)
			}
			if want := c.want; !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
			p.set("score=1 step=0 add=0 result=0 normalize=0 prescore=0")
			cy = w.cycle(incoming("a", "q", 0))
			clear(scores)
			if status := p.Score(cy, w.rows(), scores); !status.Success() || scores[2] != 1 {
				t.Errorf("the next pod: %s %v", status.CodeOf(), scores)
			}
			if status := p.Normalize(cy, w.rows(), scores); !status.Success() || scores[2] != 1 {
				t.Errorf("the next pod: %s %v", status.CodeOf(), scores)
			}
		})
	}
}

// TestIgnoredShard: one faulted call of many voids all scores of the cycle, and no others.
func TestIgnoredShard(t *testing.T) {
	bad := true
	s := native(func(g *tiny, _ string, call, lo, hi uint32) int32 {
		if nodes := g.u32(g.u32(call) + abi.HeaderDirectory); g.u32(nodes+abi.TableRows) < plugin.BlockRows && bad {
			panic("trap")
		}
		for i := range g.u32(call + abi.CallRowCount) {
			g.put32(g.u32(call+abi.CallScores)+8*i, 7)
		}
		return 0
	}, abi.ExportScore)
	p := newPlugin(t, wasm.Config{Shards: 2}, s, &wire.Manifest{Points: wire.ManifestPoints{Score: &wire.ManifestPoint{Scope: "node"}}})
	w := newWorld(1500)
	for _, bad = range []bool{false, true, false} {
		c := w.cycle(incoming("a", "p", 0))
		rows, scores := w.rows(), make([]int64, 1500)
		for _, cut := range [][2]int{{0, 1024}, {1024, 1500}} {
			if status := p.Score(c, rows[cut[0]:cut[1]], scores[cut[0]:cut[1]]); !status.Success() {
				t.Fatal(status.Message())
			}
		}
		if status := p.Normalize(c, rows, scores); !status.Success() {
			t.Fatal(status.Message())
		}
		for row, score := range scores {
			if want := map[bool]int64{false: 7}[bad]; score != want {
				t.Fatalf("bad %v: row %d has score %d, want %d", bad, row, score, want)
			}
		}
	}
}

// TestPolicies: Ignore takes back the answers that the faulted call had given already.
func TestPolicies(t *testing.T) {
	p := fromGlobals(t, "filter_from_global", wasm.Config{Policies: map[abi.Point]fault.Policy{abi.Filter: fault.Ignore}})
	p.set("code=2 reason=3")
	w := newWorld(2)
	if got := verdicts(filter(p.Plugin, w.cycle(incoming("a", "p", 0)), w.rows())); got != "Success Success" || p.Faults() != 1 {
		t.Errorf("got %s, %d faults", got, p.Faults())
	}
	for point, want := range map[abi.Point]fault.Policy{
		abi.PreFilter: fault.Fail, abi.Filter: fault.Fail, abi.PreScore: fault.Ignore, abi.Score: fault.Ignore, abi.Normalize: fault.Ignore,
	} {
		if got := fault.DefaultPolicy(point); got != want {
			t.Errorf("%s: %v", point, got)
		}
	}
}

// TestNormalizations: those of a manifest, with the largest possible numbers.
func TestNormalizations(t *testing.T) {
	for how, want := range map[string]string{
		"none": "[0 50 100]", "max": "[0 33 100]", "reverse": "[100 67 0]", "minmax": "[0 66 100]",
	} {
		raw := []int64{math.MinInt64, math.MaxInt64 / 3, math.MaxInt64}
		if how == "none" {
			raw = []int64{0, 50, 100}
		}
		f := native(func(g *tiny, _ string, call, lo, hi uint32) int32 {
			for i, v := range raw {
				at := g.u32(call+abi.CallScores) + 8*uint32(i)
				g.put32(at, uint32(v))
				g.put32(at+4, uint32(v>>32))
			}
			return 0
		}, abi.ExportScore)
		p := newPlugin(t, wasm.Config{}, f, &wire.Manifest{Points: wire.ManifestPoints{Score: &wire.ManifestPoint{Scope: "node", Normalize: how}}})
		w := newWorld(3)
		c := w.cycle(incoming("a", "p", 0))
		scores := make([]int64, 3)
		if status := p.Score(c, w.rows(), scores); !status.Success() {
			t.Fatal(status.Message())
		}
		if status := p.Normalize(c, w.rows(), scores); !status.Success() || fmt.Sprint(scores) != want {
			t.Errorf("%s: got %v %s, want %s", how, scores, status.Message(), want)
		}
	}
}

// TestStateOfCycle: the host keeps state from point to point and for fresh instances. A clone does
// not change its original, and the next pod starts without state.
func TestStateOfCycle(t *testing.T) {
	p := fromGlobals(t, "state", wasm.Config{})
	w := newWorld(2)
	c := w.cycle(incoming("a", "p", 0))
	step := func(set string, call func(), written, length, value int32) {
		t.Helper()
		p.set("set=9 " + set)
		call()
		if p.Faults() != 0 || p.get("set") != written || p.get("length") != length || length > 0 && p.get("value") != value {
			t.Errorf("%s: set %d, length %d, value %d, faults %d", set, p.get("set"), p.get("length"), p.get("value"), p.Faults())
		}
	}
	all := func(c *plugin.Cycle) func() { return func() { filter(p.Plugin, c, w.rows()) } }
	step("write=0", all(c), 9, -1, 0)
	step("write=1 value=41", func() { p.PreFilter(c) }, 0, 4, 41)
	step("write=0", all(c), 9, 4, 41)

	whatIf := *c
	whatIf.State = c.State.Clone()
	overlay := w.snap.Overlay(0)
	step("write=0", func() { filter(p.Plugin, &whatIf, []uint32{overlay}) }, 9, 4, 41)
	step("write=1 value=42", func() { filter(p.Plugin, &whatIf, []uint32{overlay}) }, 0, 4, 42)
	step("write=0", all(c), 9, 4, 41)
	w.snap.DropOverlays()

	scores := make([]int64, 2)
	step("write=1 value=43", func() { p.PreScore(c, w.rows()) }, 0, 4, 43)
	step("write=0", func() { p.Score(c, w.rows(), scores) }, 9, 4, 43)
	step("write=0", all(w.cycle(incoming("a", "q", 0))), 9, -1, 0)
}

// TestStateOfNodeScope: filter and score of scope node read what pre_filter wrote, and cannot
// write (ABI-7.5). Their seed is zero, and pre_filter sees no rows.
func TestStateOfNodeScope(t *testing.T) {
	type seen struct {
		rows  uint32
		seed  uint64
		state string
		wrote bool
	}
	var got []seen
	f := native(func(g *tiny, export string, call, lo, hi uint32) int32 {
		header := g.u32(call)
		v, _ := g.env.StateGet("k")
		got = append(got, seen{
			rows: g.u32(g.u32(header+abi.HeaderDirectory) + abi.TableRows), state: string(v),
			seed:  uint64(g.u32(header+abi.HeaderSeed)) | uint64(g.u32(header+abi.HeaderSeed+4))<<32,
			wrote: g.env.StateSet("k", []byte(export)),
		})
		return 0
	}, abi.ExportPreFilter, abi.ExportFilter, abi.ExportScore)
	man := &wire.Manifest{Points: wire.ManifestPoints{
		PreFilter: &wire.ManifestPoint{}, Filter: &wire.ManifestPoint{Scope: "node"}, Score: &wire.ManifestPoint{Scope: "node"},
	}}
	run := func(man *wire.Manifest) {
		got = nil
		p := newPlugin(t, wasm.Config{}, f, man)
		w := newWorld(2)
		c := w.cycle(incoming("a", "p", 0))
		c.Seed = 77
		p.PreFilter(c)
		filter(p, c, w.rows())
		p.Score(c, w.rows(), make([]int64, 2))
	}
	run(man)
	want := []seen{{0, 0, "", true}, {2, 0, "berth_pre_filter", false}, {2, 0, "berth_pre_filter", false}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	man.Points.Score.Scope = "cluster"
	run(man)
	// pre_filter sees rows now, so a filter of scope node must not read what it wrote.
	want = []seen{{2, 77, "", true}, {2, 0, "", false}, {2, 77, "berth_pre_filter", true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("a score of scope cluster: got %+v", got)
	}
}

// TestNamespaces: a plugin for some namespaces has no opinion on other pods.
func TestNamespaces(t *testing.T) {
	p := fromGlobals(t, "filter_from_global", wasm.Config{Namespaces: []string{"b", "a"}})
	p.set("code=2")
	w := newWorld(2)
	for ns, want := range map[string]string{"a": "Unschedulable Unschedulable", "b": "Unschedulable Unschedulable", "c": "Success Success", "": "Success Success"} {
		if got := verdicts(filter(p.Plugin, w.cycle(incoming(ns, "p", 0)), w.rows())); got != want {
			t.Errorf("%q: %s", ns, got)
		}
	}
	s := fromGlobals(t, "score_from_global", wasm.Config{Namespaces: []string{"a"}})
	s.set("score=50")
	c := w.cycle(incoming("c", "p", 0))
	scores := []int64{0, 0}
	if _, status := s.PreFilter(c); !status.Is(abi.Skip) {
		t.Errorf("pre_filter: %s", status.CodeOf())
	}
	if status := s.PreScore(c, w.rows()); !status.Is(abi.Skip) {
		t.Errorf("pre_score: %s", status.CodeOf())
	}
	if s.Score(c, w.rows(), scores); scores[0] != 0 || s.Calls() != 0 {
		t.Errorf("score: %v, %d calls", scores, s.Calls())
	}
}

// TestColumnsSurvive: if every call is checked, a guest that overwrites its snapshot fails only
// that attempt. With sampling its own verdicts can be wrong until the next sample, which also
// finds writes of earlier calls.
func TestColumnsSurvive(t *testing.T) {
	good, bad := incoming("a", "good", 0), incoming("a", "bad", 1)
	for _, c := range []struct {
		every int
		want  string
	}{
		{1, "ok fault ok ok ok ok ok ok"},
		{3, "ok ok fault ok ok ok ok ok"},
		{4, "ok ok wrong fault ok ok ok ok"},
		{7, "ok ok wrong wrong wrong wrong fault ok"},
		{0, "ok ok wrong wrong wrong wrong wrong wrong"},
	} {
		module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/scribble")
		watched := &spy{Factory: module}
		p := newPlugin(t, wasm.Config{VerifyEvery: c.every}, watched, man)
		w := newWorld(3)
		var got []string
		for i := range 8 {
			pod := good
			if i == 1 {
				pod = bad
			}
			text := verdicts(filter(p, w.cycle(pod), w.rows()))
			switch {
			case text == "Success Success Success":
				text = "ok"
			case text == "Unschedulable Success Success":
				text = "wrong"
			case strings.HasPrefix(text, `Error "fault of plugin guest at Filter: wrote-snapshot: the guest `):
				text = "fault"
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("every %d: got %v, want %s", c.every, got, c.want)
		}
		if alive := len(watched.alive()); alive != 1 || c.every > 0 && len(watched.guests) != 3 {
			t.Errorf("every %d: %d instances are alive, %d were made", c.every, alive, len(watched.guests))
		}
	}
}

// TestClose: a closed plugin answers with faults, and may be closed again.
func TestClose(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "good")
	watched := &spy{Factory: module}
	p := newPlugin(t, wasm.Config{}, watched, man)
	w := newWorld(2)
	c := w.cycle(incoming("a", "p", 0))
	filter(p, c, w.rows())
	if err := p.Close(context.Background()); err != nil || len(watched.alive()) != 0 {
		t.Errorf("%v, %d instances are alive", err, len(watched.alive()))
	}
	for range 2 {
		if got := verdicts(filter(p, c, w.rows())); !strings.Contains(got, "the plugin is closed") {
			t.Errorf("got %s", got)
		}
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestRetryAfter: what pre_filter says counts for the attempt, but not if the call is faulted.
func TestRetryAfter(t *testing.T) {
	rows := uint32(0)
	m := &wire.Manifest{Name: "guest", ABI: "1.1", Points: wire.ManifestPoints{PreFilter: &wire.ManifestPoint{}, Filter: &wire.ManifestPoint{}}}
	p := newPlugin(t, wasm.Config{}, native(func(g *tiny, export string, call, _, _ uint32) int32 {
		if export == abi.ExportPreFilter {
			binary.LittleEndian.PutUint64(g.memory[call+abi.CallRetryAfter:], 90_000)
			binary.LittleEndian.PutUint32(g.memory[call+abi.CallHasRowSet:], rows)
		}
		return 0
	}, abi.ExportPreFilter, abi.ExportFilter), m)
	w := newWorld(1)
	for _, test := range []struct {
		hasRowSet uint32
		want      state.Retry
	}{{0, state.Retry{After: 90 * time.Second, Plugin: "guest"}}, {7, state.Retry{}}} {
		rows = test.hasRowSet
		c := w.cycle(incoming("a", "p", 0))
		_, status := p.PreFilter(c)
		if got := c.State.Retry(); got != test.want || status.Is(abi.Error) != (rows == 7) {
			t.Errorf("has_row_set %d: %+v, want %+v; %s", rows, got, test.want, status.Message())
		}
	}
}

// TestLanesAllocateNothing: what is asked for each pod and plugin reads nothing that is made anew. It once was the table of
// package fields, which took three times what a cycle costs.
func TestLanesAllocateNothing(t *testing.T) {
	m := &wire.Manifest{
		Name: "guest", Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: "node"}},
		Reads: wire.ManifestReads{Node: []string{"name", "pods"}, Pods: []string{"namespace"}, Pod: []string{"namespace"}},
	}
	p := newPlugin(t, wasm.Config{Kept: true}, native(func(*tiny, string, uint32, uint32, uint32) int32 { return 0 }, abi.ExportFilter), m)
	w := newWorld(3)
	w.cache.UpdateSnapshot(w.snap)
	pod := incoming("a", "p", 0)
	asked := testing.AllocsPerRun(100, func() { p.Lanes(w.again(pod), abi.Filter) })
	if cycle := testing.AllocsPerRun(100, func() { w.again(pod) }); asked-cycle > 8 {
		t.Errorf("a cycle in which nothing is asked makes %v allocations", asked-cycle)
	}
}
