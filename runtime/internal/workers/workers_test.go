package workers_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/workers"
)

// goroutine is the text that names the goroutine it is called in.
func goroutine() string {
	var b [64]byte
	var id int
	_, _ = fmt.Sscanf(string(b[:runtime.Stack(b[:], false)]), "goroutine %d", &id)
	return fmt.Sprint(id)
}

// run runs n functions at once, and returns the goroutines that they ran on.
func run(w *workers.Workers, n int) map[string]bool {
	ran := make(map[string]bool)
	var mu sync.Mutex
	var group sync.WaitGroup
	all := make(chan struct{})
	group.Add(n)
	for range n {
		w.Go(func() {
			group.Done()
			<-all // so that none takes two
			mu.Lock()
			defer mu.Unlock()
			ran[goroutine()] = true
		})
	}
	group.Wait()
	close(all)
	synctest.Wait()
	return ran
}

// TestKept: goroutines are used again, the last one first, at most 32 wait, and those that are not needed end.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := runtime.NumGoroutine()
		left := func() int {
			synctest.Wait()
			return runtime.NumGoroutine() - began
		}
		var w workers.Workers
		first := run(&w, 100)
		if len(first) != 100 || left() != 32 {
			t.Errorf("100 functions ran on %d goroutines, and %d wait; want 32", len(first), left())
		}
		for id := range run(&w, 32) {
			if !first[id] {
				t.Errorf("goroutine %s is new", id)
			}
		}
		one := run(&w, 1)
		for range 10 {
			time.Sleep(4 * time.Second)
			for id := range run(&w, 1) {
				if !one[id] {
					t.Errorf("the last goroutine was %v, and now it is %s", one, id)
				}
			}
		}
		if n := left(); n != 1 {
			t.Errorf("%d goroutines wait, and one was needed in the last 40 seconds", n)
		}
		time.Sleep(20 * time.Second)
		if n := left(); n != 0 {
			t.Errorf("%d goroutines wait, and none was needed", n)
		}
		if run(&w, 3); left() != 3 {
			t.Errorf("%d goroutines wait, want 3", left())
		}
		w.Close()
		if n := left(); n != 0 {
			t.Errorf("%d goroutines wait after Close", n)
		}
		if ran := run(&w, 2); len(ran) != 2 || left() != 0 {
			t.Errorf("after Close, 2 functions ran on %d goroutines, and %d wait", len(ran), left())
		}
		w.Close()
	})
}

// TestGoexit: a function that ends its goroutine takes none from others.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var w workers.Workers
		run(&w, 2)
		w.Go(runtime.Goexit)
		synctest.Wait()
		run(&w, 40)
		w.Close()
	})
}

// TestRandom: each function runs once, even if several goroutines call Go, and one of them Close.
func TestRandom(t *testing.T) {
	var w workers.Workers
	var group sync.WaitGroup
	ran := make([]int, 4000)
	for caller := range 4 {
		group.Go(func() {
			for i := range 1000 {
				group.Add(1)
				w.Go(func() {
					defer group.Done()
					ran[1000*caller+i]++
				})
				if caller == 3 && i == 500 {
					w.Close()
				}
			}
		})
	}
	group.Wait()
	for i, n := range ran {
		if n != 1 {
			t.Fatalf("function %d ran %d times", i, n)
		}
	}
}

// BenchmarkGo needs a stack as deep as that of a request to the API server.
func BenchmarkGo(b *testing.B) {
	var w workers.Workers
	for name, start := range map[string]func(func()){"new": func(run func()) { go run() }, "kept": w.Go} {
		b.Run(name, func(b *testing.B) {
			var group sync.WaitGroup
			for b.Loop() {
				group.Add(1)
				start(func() {
					deep(12)
					group.Done()
				})
				group.Wait()
			}
		})
	}
}

//go:noinline
func deep(kib int) byte {
	var frame [1 << 10]byte
	frame[kib] = 1
	if kib > 0 {
		frame[0] = deep(kib - 1)
	}
	return frame[kib] + frame[0]
}
