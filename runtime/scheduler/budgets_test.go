package scheduler_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
)

// budgeted returns a world with a tenant's plugin, whose bindings are held.
func budgeted(t *testing.T) *world {
	w := newWorld(t, &scenario.Log{})
	w.declare("Guest", scenario.MustParse("filter=pending:moody budget=3 attempts=4 namespaces=team events=Node/Add"))
	w.held = true
	return w
}

func (w *world) answer(text string) {
	if err := w.plugins["Guest"].Set("filter", text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) addNode(name string) {
	node, err := fake.Node(name, scenario.Args{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.get().SetNode(node)
}

// spend has one more pod accepted, and the first one bound, and tells when each is tried.
func (w *world) spend() string {
	w.get().Step(w.t.Context())
	w.answer("pending:moody")
	w.run()
	w.spawned[0]()
	w.run()
	for range 4 {
		w.clock.Advance(20 * time.Second)
		w.run()
	}
	return w.told()
}

// TestCheckpointOfBudgets: each field of an account is needed.
func TestCheckpointOfBudgets(t *testing.T) {
	w := budgeted(t)
	k := &keeping{t: t}
	w.recorder = k
	s := w.get()
	w.addNode("a")
	for _, name := range []string{"k", "p", "q", "r", "s", "t", "u"} {
		w.set(pod(t, name, "namespace=team"))
	}
	w.run()
	w.answer("ok")
	w.addNode("b")
	s.Step(t.Context())
	w.log.Take()
	k.full = true
	s.Step(t.Context())
	if !k.begun {
		t.Fatal("no segment has begun")
	}
	want := strings.ReplaceAll(w.spend(), "  Bind.bind k to a\n", "")
	replayed := func(lines []string) string {
		w := budgeted(t)
		w.answer("ok")
		s, steps := w.get(), 0
		for _, line := range lines {
			e, err := inbox.Parse(line)
			if err != nil {
				return err.Error()
			}
			if _, decision := e.(*inbox.Decision); !decision {
				s.Handle(t.Context(), e)
			}
			if _, step := e.(*inbox.Step); step {
				if steps++; steps == 2 {
					w.answer("pending:moody")
				}
			}
		}
		return w.told()
	}
	if got := replayed(k.lines); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	for _, field := range []string{"rate=3", "all=4", "full=[^ ]+", "all-full=[^ ]+", "held=`[^`]*`", "paid=`[^`]*`", ""} {
		lines, found := make([]string, 0, len(k.lines)), false
		for _, line := range k.lines {
			next := line
			if strings.HasPrefix(line, "budget ") {
				if next = regexp.MustCompile(" "+field).ReplaceAllString(line, ""); field == "" {
					found = true
					continue
				}
			}
			found = found || next != line
			lines = append(lines, next)
		}
		if got := replayed(lines); !found || got == want {
			t.Errorf("%q: found %v, and it is not needed", field, found)
		}
	}
}
