package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// breaking is a filter with a breaker that opens at each fault, for five seconds.
type breaking struct {
	broken
	w     *world
	works bool
	open  bool
	calls int
}

func (b *breaking) RetryAt(string) (time.Time, bool) { return b.at, b.open }

func (b *breaking) Retries() []plugin.Retry {
	if !b.open {
		return nil
	}
	return []plugin.Retry{{Namespace: "ns", At: b.at}}
}

func (b *breaking) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	now := b.w.clock.Now()
	called := !b.open || !now.Before(b.at)
	if called {
		b.calls++
	}
	switch {
	case called && b.works && b.open:
		b.open = false
		b.w.get().ReleasePlugin(b.info.Name)
	case called && !b.works:
		b.open, b.at = true, now.Add(5*time.Second)
	}
	if !b.open {
		return
	}
	reason := out.Reason("it is broken")
	for i := range rows {
		out.Reject(i, abi.Error, reason)
	}
}

// tries counts attempts.
type tries struct {
	scheduler.Observer
	of map[string]int
}

func (o *tries) Attempted(a *report.Attempt, _ func(row uint32) string) { o.of[a.Pod]++ }

// newBreaking returns a world with a node and the plugin, and what sets the node's CPU.
func newBreaking(t *testing.T) (w *world, b *breaking, capacity func(cpu string)) {
	w = newWorld(t, &scenario.Log{})
	w.declare("Fit", scenario.MustParse("fit=yes enforces=requests events=Pod/Delete,Node/Add,Node/Update"))
	b = &breaking{broken: broken{info: plugin.Info{Name: "Guest"}}, w: w}
	profile := w.profiles[0]
	profile.Points[abi.Filter] = append(profile.Points[abi.Filter], pipeline.Entry{Plugin: b})
	return w, b, func(cpu string) {
		node, err := fake.Node("n", scenario.MustParse("cpu="+cpu))
		if err != nil {
			t.Fatal(err)
		}
		w.get().SetNode(node)
	}
}

// arrives adds a pod.
func (w *world) arrives(name, options string) {
	pod, err := fake.Pod(name, scenario.MustParse(options))
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(pod)
}

// TestStalled: pods that fail because of a plugin with an open breaker are not tried until it is due,
// and then one at a time; when it works again, all are placed, whatever happened to the one that was tried.
func TestStalled(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		w, b, capacity := newBreaking(t)
		seen := &tries{w, map[string]int{}}
		w.observer = seen
		capacity("100000")
		var alive []string
		idle := true
		for i := range rapid.IntRange(5, 60).Draw(r, "steps") {
			before, calls := map[string]int{}, b.calls
			for name, n := range seen.of {
				before[name] = n
			}
			due := !b.open || !w.clock.Now().Before(b.at)
			what := rapid.SampledFrom([]string{"pod", "pod", "delete", "delete", "full", "room", "time", "time"}).Draw(r, "what")
			switch what {
			case "pod":
				name := fmt.Sprint("p", i)
				w.arrives(name, "cpu=1")
				alive = append(alive, name)
			case "delete":
				if len(alive) > 0 {
					at := rapid.IntRange(0, len(alive)-1).Draw(r, "which")
					w.gone(types.UID(alive[at]))
					alive = slices.Delete(alive, at, at+1)
				}
			case "full":
				capacity("0")
			case "room":
				capacity("100000")
			case "time":
				w.clock.Advance(time.Duration(rapid.IntRange(1, 7000).Draw(r, "ms")) * time.Millisecond)
				due = due || !w.clock.Now().Before(b.at)
			}
			wasIdle := idle
			if idle = rapid.Bool().Draw(r, "all"); idle {
				w.run()
			} else { // what comes next is handled before the next attempt
				w.get().Step(t.Context())
			}
			if b.calls > calls+1 {
				r.Fatalf("%d calls of a broken plugin after %s", b.calls-calls, what)
			}
			for name, n := range seen.of {
				if wasIdle && !due && before[name] > 0 && n > before[name] && what != "room" {
					r.Fatalf("%s is tried again after %s, although the plugin is not due", name, what)
				}
			}
		}
		capacity("100000")
		b.works = true
		for range 60 {
			w.run()
			w.clock.Advance(time.Second)
		}
		for _, name := range alive {
			if w.pods[types.UID(name)].NodeName() == "" {
				w.state()
				r.Fatalf("%s is not placed:\n%s", name, w.log.Take())
			}
		}
	})
}

// TestStalledPodGone: if the pod that was to be tried is deleted before that, another one is.
func TestStalledPodGone(t *testing.T) {
	w, b, capacity := newBreaking(t)
	capacity("100000")
	for _, name := range []string{"a", "b", "c"} {
		w.arrives(name, "cpu=1")
		w.run()
	}
	capacity("0")
	w.run()
	w.clock.Advance(5 * time.Second)
	w.arrives("first", "cpu=1 priority=10") // fits nowhere, so the plugin is not called
	w.get().Step(t.Context())
	for _, name := range []types.UID{"a", "b", "first"} {
		w.gone(name)
	}
	b.works = true
	w.run()
	capacity("100000")
	w.run()
	if w.pods["c"].NodeName() == "" {
		w.state()
		t.Errorf("c is not placed:\n%s", w.log.Take())
	}
}
