package pipeline

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// forkBlocks is the number of blocks from which on a second worker pays: waking
// a goroutine costs about as much as a native plugin needs for some blocks.
const forkBlocks = 4

// Workers is a pool of long-lived goroutines that evaluate blocks. The caller of
// do takes part, so a pool of one has no goroutine. It is used by one caller at
// a time.
type Workers struct {
	n    int
	jobs chan *job
	stop sync.Once
}

type job struct {
	blocks int
	next   atomic.Int64
	done   sync.WaitGroup
	run    func(worker, block int)
	caught atomic.Pointer[plugin.Panic] // of run
}

// NewWorkers starts a pool of n workers; Close stops it.
func NewWorkers(n int) (*Workers, error) {
	if n < 1 {
		return nil, errors.New("the number of workers must be at least 1")
	}
	w := &Workers{n: n, jobs: make(chan *job, n)}
	for worker := 1; worker < n; worker++ {
		go func() {
			for j := range w.jobs {
				j.work(worker)
				j.done.Done()
			}
		}()
	}
	return w, nil
}

// Len returns the number of workers.
func (w *Workers) Len() int { return w.n }

// Close ends the goroutines of the pool.
func (w *Workers) Close() { w.stop.Do(func() { close(w.jobs) }) }

// do calls run for each block and returns when all are done. worker is below
// Len() and is not shared by concurrent calls.
func (w *Workers) do(blocks int, run func(worker, block int)) {
	if w.n == 1 || blocks < forkBlocks {
		for block := range blocks {
			run(0, block)
		}
		return
	}
	j := &job{blocks: blocks, run: run}
	helpers := min(w.n, blocks) - 1
	j.done.Add(helpers)
	for range helpers {
		w.jobs <- j
	}
	j.work(0)
	j.done.Wait()
	if p := j.caught.Load(); p != nil { // as if this goroutine had run all blocks
		panic(p)
	}
}

func (j *job) work(worker int) {
	defer func() {
		if r := recover(); r != nil {
			j.caught.CompareAndSwap(nil, plugin.Stopped(plugin.InAttempt, "a scheduling cycle", r))
		}
	}()
	for {
		block := int(j.next.Add(1)) - 1
		if block >= j.blocks {
			return
		}
		j.run(worker, block)
	}
}

// fewRows is how many rows are one block, wherever they are: each block is a call.
const fewRows = 64

// cut splits ascending rows at multiples of plugin.BlockRows of the row number.
func cut(rows []uint32, blocks [][]uint32) [][]uint32 {
	if n := len(rows); 0 < n && n <= fewRows {
		return append(blocks, rows)
	}
	for len(rows) > 0 {
		limit := rows[0] - rows[0]%plugin.BlockRows + plugin.BlockRows
		n := len(rows)
		if rows[n-1] >= limit {
			n = lowerBound(rows, limit)
		}
		blocks = append(blocks, rows[:n])
		rows = rows[n:]
	}
	return blocks
}

func lowerBound(rows []uint32, limit uint32) int {
	lo, hi := 0, len(rows)
	for lo < hi {
		mid := (lo + hi) / 2
		if rows[mid] < limit {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
