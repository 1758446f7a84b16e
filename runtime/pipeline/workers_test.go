package pipeline

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestWorkers: every block is done once, by a worker that does one at a time.
func TestWorkers(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		w, err := NewWorkers(n)
		if err != nil {
			t.Fatal(err)
		}
		if w.Len() != n {
			t.Errorf("%d workers, want %d", w.Len(), n)
		}
		for _, blocks := range []int{0, 1, 3, 4, 5, 50, 1000} {
			var mu sync.Mutex
			done := make([]int, blocks)
			busy := make([]bool, n)
			w.do(blocks, func(worker, block int) {
				mu.Lock()
				if busy[worker] {
					t.Errorf("worker %d does two blocks at once", worker)
				}
				busy[worker] = true
				done[block]++
				mu.Unlock()
				mu.Lock()
				busy[worker] = false
				mu.Unlock()
			})
			for block, times := range done {
				if times != 1 {
					t.Errorf("%d workers, %d blocks: block %d was done %d times", n, blocks, block, times)
				}
			}
		}
		w.Close()
		w.Close()
	}
	if _, err := NewWorkers(0); err == nil {
		t.Error("a pool without workers")
	}
}

// TestCut: blocks are the rows in order, cut at multiples of plugin.BlockRows; few rows are
// one block.
func TestCut(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		set := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 6*plugin.BlockRows), 0, 200, rapid.ID[uint32]).Draw(r, "rows")
		slices.Sort(set)
		if len(set) > 0 && len(set) <= fewRows {
			if blocks := cut(set, nil); len(blocks) != 1 || !slices.Equal(blocks[0], set) {
				r.Fatalf("%d rows are cut: %v", len(set), blocks)
			}
			return
		}
		var joined []uint32
		last := -1
		for _, block := range cut(set, nil) {
			if len(block) == 0 {
				r.Fatal("an empty block")
			}
			first := int(block[0] / plugin.BlockRows)
			if first == last || int(block[len(block)-1]/plugin.BlockRows) != first {
				r.Fatalf("block %v does not lie between two multiples of %d", block, plugin.BlockRows)
			}
			last = first
			joined = append(joined, block...)
		}
		if !slices.Equal(joined, set) {
			r.Fatalf("joined %v, want %v", joined, set)
		}
	})
}

// TestIntersect compares with sets.
func TestIntersect(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		draw := func(name string) []uint32 {
			s := rapid.SliceOfDistinct(rapid.Uint32Range(0, 30), rapid.ID[uint32]).Draw(r, name)
			slices.Sort(s)
			return s
		}
		a, b := draw("a"), draw("b")
		var want []uint32
		for _, x := range a {
			if slices.Contains(b, x) {
				want = append(want, x)
			}
		}
		if got := intersect(a, b); !slices.Equal(got, want) {
			r.Fatalf("%v and %v have %v in common, got %v", a, b, want, got)
		}
	})
}

// TestVerdictTable: a number stands for one verdict, however many there are.
func TestVerdictTable(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		var table verdictTable
		for range 2 {
			table.reset()
			for range rapid.IntRange(0, 60).Draw(r, "count") {
				v := verdict{
					plugin: rapid.Uint8Range(0, 3).Draw(r, "plugin"),
					code:   rapid.SampledFrom([]abi.Code{abi.Unschedulable, abi.Pending}).Draw(r, "code"),
					texts:  rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab"}), 0, 3).Draw(r, "texts"),
				}
				known := slices.IndexFunc(table.verdicts, func(o verdict) bool { return o.equal(&v) })
				n := table.number(v)
				if !table.verdicts[n-1].equal(&v) {
					r.Fatalf("%+v has number %d, which is %+v", v, n, table.verdicts[n-1])
				}
				if known >= 0 && int(n) != known+1 || known < 0 && int(n) != len(table.verdicts) {
					r.Fatalf("%+v is known as %d and has number %d of %d", v, known+1, n, len(table.verdicts))
				}
			}
		}
	})
}

// TestTurns: blocks of one lane pass each stage in their order, on any number of workers, also if one leaves out a stage.
func TestTurns(t *testing.T) {
	const lanes, stages = 3, 2
	var blocks [][]uint32
	for i := range uint32(40) {
		if i%7 != 0 { // rows of some blocks are asked about no more
			blocks = append(blocks, []uint32{i * plugin.BlockRows})
		}
	}
	for _, n := range []int{1, 2, 8} {
		w, err := NewWorkers(n)
		if err != nil {
			t.Fatal(err)
		}
		var all turns
		var mu sync.Mutex
		var order [stages][lanes][]uint32
		all.begin(blocks)
		w.do(len(blocks), func(_, block int) {
			defer all.end(block)
			for stage := range stages {
				if block%5 == stage {
					return
				}
				all.wait(block, stage, lanes)
				number := blocks[block][0] / plugin.BlockRows
				mu.Lock()
				order[stage][number%lanes] = append(order[stage][number%lanes], number)
				mu.Unlock()
				all.pass(block, stage+1)
			}
		})
		for stage := range stages {
			for lane, numbers := range order[stage] {
				if len(numbers) < 5 || !slices.IsSorted(numbers) {
					t.Errorf("%d workers, stage %d, lane %d: blocks %d", n, stage, lane, numbers)
				}
			}
		}
		w.Close()
	}
}
