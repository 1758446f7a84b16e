package cycle_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// hashed is a plugin whose answers are hashes: of the row alone for scope node,
// of the rows in the call too for scope cluster, so that a call that is cut
// differently answers differently.
type hashed struct {
	info   plugin.Info
	seed   uint64
	reject uint64 // of 1024 rows
	fail   uint64
	subset uint64 // PreFilter keeps one row of so many; 0 has no opinion
	skip   bool
}

func (p *hashed) Info() *plugin.Info { return &p.info }

func (p *hashed) of(row uint32, salt uint64) uint64 {
	x := p.seed + uint64(row)*0x9e3779b97f4a7c15 + salt*0xda942042e4dd58b5
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// salt is what an answer depends on beside its row.
func (p *hashed) salt(rows []uint32, scope abi.Scope) uint64 {
	if scope == abi.ScopeNode {
		return 0
	}
	return uint64(len(rows)) + uint64(rows[0])<<20
}

func (p *hashed) PreFilter(c *plugin.Cycle) (rows []uint32, status *plugin.Status) {
	if p.skip {
		return nil, plugin.NewStatus(abi.Skip)
	}
	for row := uint32(0); p.subset > 0 && int(row) < c.Snapshot.Len(); row++ {
		if p.of(row, 1)%p.subset == 0 {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (p *hashed) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	salt := p.salt(rows, p.info.Scope(abi.Filter))
	var reasons [3]uint16
	for i, row := range rows {
		h := p.of(row, 2+salt)
		switch n := h >> 20 % 1024; {
		case n < p.fail:
			out.Reject(i, abi.Error, out.Reason("broken"))
		case n < p.fail+p.reject:
			k := h % 3
			if reasons[k] == 0 {
				reasons[k] = out.Reason(fmt.Sprintf("reason %d", k), "and another")
			}
			out.Reject(i, []abi.Code{abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending}[h>>8%3], reasons[k])
		}
	}
}

func (p *hashed) Score(_ *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	salt := p.salt(rows, p.info.Scope(abi.Score))
	for i, row := range rows {
		out[i] = int64(p.of(row, 3+salt) % 101)
		if p.fail > 0 && p.of(row, 4)%4096 == 0 {
			return plugin.Fail(errors.New("cannot score"))
		}
	}
	return nil
}

// TestWorkers: the decision and all that is recorded of it do not depend on the
// number of workers.
func TestWorkers(t *testing.T) {
	const nodes = 5200
	w := newWorld(t, nil)
	for i := range nodes {
		if err := w.node(fmt.Sprintf("n%04d", i), scenario.Args{}); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := w.snapshot()
	seeded.Check(t, func(r *rapid.T) {
		var plugins []*hashed
		scoped := rapid.SampledFrom([][]abi.Point{{abi.Filter, abi.Score}, {abi.Filter, abi.Score}, {abi.Filter}, {abi.Score}, nil})
		for i := range rapid.IntRange(1, 5).Draw(r, "plugins") {
			plugins = append(plugins, &hashed{
				info:   plugin.Info{Name: fmt.Sprintf("P%d", i), Reads: plugin.Whole(abi.PodWhole), NodeScoped: scoped.Draw(r, "scoped")},
				seed:   rapid.Uint64().Draw(r, "seed"),
				reject: rapid.SampledFrom([]uint64{0, 1, 100, 900, 1024}).Draw(r, "reject"),
				fail:   rapid.SampledFrom([]uint64{0, 0, 0, 0, 1}).Draw(r, "fail"),
				subset: rapid.SampledFrom([]uint64{0, 0, 0, 2, 100}).Draw(r, "subset"),
				skip:   rapid.IntRange(0, 4).Draw(r, "skip") == 0,
			})
		}
		var percentage *int32
		if p := int32(rapid.IntRange(-1, 100).Draw(r, "percentage")); p >= 0 {
			percentage = &p
		}
		var promised nominations
		promised.pods = map[string][]*state.Pod{}
		for range rapid.IntRange(0, 3).Draw(r, "nominated") {
			node := fmt.Sprintf("n%04d", rapid.IntRange(0, nodes-1).Draw(r, "node"))
			if promised.pods[node] == nil {
				promised.nodes = append(promised.nodes, node)
			}
			pod, _ := fake.Pod("q", scenario.MustParse("priority=9"))
			promised.pods[node] = append(promised.pods[node], pod)
		}
		seed := rapid.Uint64().Draw(r, "cycle")
		decide := func(workers int) string {
			w := newWorld(t, nil)
			w.workers, w.seed, w.nominations, w.config.TieBreak = workers, seed, promised, cycle.TieBreak(seed%2)
			w.profile.Percentage = percentage
			for i, p := range plugins {
				w.add(p, int64(i), abi.PreFilter, abi.Filter)
				if i%2 == 0 {
					w.add(p, int64(i), abi.Score)
				}
			}
			var b strings.Builder
			for i := range 3 {
				options := "priority=5"
				if i == 1 {
					options += " nominated=n0007"
				}
				pod, _ := fake.Pod("p", scenario.MustParse(options))
				d := w.decide(snapshot, pod)
				b.WriteString(describe(d, snapshot.Name) + work(d.Attempt.Timings))
				for _, rejection := range d.Attempt.Rejections {
					fmt.Fprintln(&b, rejection.Rows)
				}
			}
			return b.String()
		}
		want := decide(1)
		for _, workers := range []int{2, 3, 8} {
			if got := decide(workers); got != want {
				r.Fatalf("%d workers decide\n%.3000s\nand one\n%.3000s", workers, got, want)
			}
		}
	})
}
