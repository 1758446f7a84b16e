package module

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// TestSettlingEnds: whenever files change, each change is reported once its file rests, and at
// the latest when it has waited for the maximum and rests. Moving contains exactly the files
// that are still being written.
func TestSettlingEnds(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		const settle = 10 * time.Millisecond
		s := newSettling(settle)
		start := time.Unix(0, 0)
		clk := clock.NewStep(start)
		type file struct{ first, last time.Time }
		untold := map[string]file{}
		tell := func() {
			now := clk.Now()
			moving := s.take(now)
			for name, f := range untold {
				if rests := !now.Before(f.last.Add(settle)); rests == slices.Contains(moving, name) {
					t.Fatalf("%s rests: %v, and is reported as moving: %v", name, rests, moving)
				} else if rests {
					delete(untold, name)
				}
			}
		}
		for range rapid.IntRange(1, 200).Draw(t, "changes") {
			until := clk.Now().Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "ms")) * time.Millisecond)
			for at, ok := s.due(); ok && !at.After(until); at, ok = s.due() {
				clk.Set(at)
				tell()
			}
			clk.Set(until)
			for name, f := range untold {
				if limit := later(f.first.Add(10*settle), f.last.Add(settle)); clk.Now().After(limit) {
					t.Fatalf("%s: first changed %v ago, last %v ago, and not reported", name, clk.Now().Sub(f.first), clk.Now().Sub(f.last))
				}
			}
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "file")
			s.changed(name, clk.Now())
			f, known := untold[name]
			if !known {
				f.first = clk.Now()
			}
			f.last = clk.Now()
			untold[name] = f
		}
		for at, ok := s.due(); ok; at, ok = s.due() {
			clk.Set(at)
			tell()
		}
		if len(untold) > 0 {
			t.Fatalf("not reported: %v", untold)
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestSettlingIsBounded: many changed files do not take unbounded memory.
func TestSettlingIsBounded(t *testing.T) {
	s := newSettling(time.Second)
	for i := range 10 * maxPending {
		s.changed(fmt.Sprint(i), time.Unix(int64(i)/maxPending, 0))
	}
	if n := len(s.pending); n > maxPending+1 {
		t.Errorf("%d files are pending", n)
	}
}

// TestWatchStarved: a file that is written more often than the settling time does not delay
// other files, and is not read half-written.
func TestWatchStarved(t *testing.T) {
	const settle = 10 * time.Millisecond
	w := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
	clk := clock.NewStep(time.Unix(0, 0))
	changed := make(chan Change, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch(ctx, w, "plugins", newSettling(settle), clk, false, changed)
	}()
	w.Events <- fsnotify.Event{Name: "plugins/good.wasm", Op: fsnotify.Write}
	var got []Change
	for range 100 { // half a second
		w.Events <- fsnotify.Event{Name: "plugins/bad.yaml", Op: fsnotify.Write}
		clk.Advance(settle / 2)
		select {
		case c := <-changed:
			got = append(got, c)
		default:
		}
	}
	cancel()
	<-done
	select {
	case c := <-changed:
		got = append(got, c)
	default:
	}
	if len(got) != 1 || !got[0].Complete(&Entry{Path: "plugins/good.wasm"}) || got[0].Complete(&Entry{Path: "plugins/bad.wasm"}) {
		t.Errorf("reported %v, want one change of good.wasm while bad.yaml moves", got)
	}
}
