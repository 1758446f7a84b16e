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

// budgeted returns a world with two plugins of a tenant, whose bindings are held. Other rejects some pods, and Guest the others
// within a budget.
func budgeted(t *testing.T, options string) *world {
	w := newWorld(t, &scenario.Log{})
	w.declare("Other", scenario.MustParse("reserve=v=pending:busy;w=pending:busy;x=pending:busy budget=2 attempts=5 namespaces=team events=Node/Add"))
	w.declare("Guest", guestWith(options))
	w.held = true
	return w
}

func guestWith(options string) scenario.Args {
	return scenario.MustParse("namespaces=team events=Node/Add " + options)
}

func (w *world) addNode(name string) {
	node, err := fake.Node(name, scenario.Args{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.get().SetNode(node)
}

// spend has the first pod bound, and tells when each is tried.
func (w *world) spend() string {
	w.run()
	w.spawned[0]()
	w.run()
	for range 15 {
		w.clock.Advance(5 * time.Second)
		w.run()
	}
	return w.told()
}

// TestCheckpointOfBudgets: each field of an account is needed.
func TestCheckpointOfBudgets(t *testing.T) {
	const (
		first = "reserve=v=ok;w=ok;x=ok;pending:moody budget=4 attempts=6"
		later = "reserve=k=ok;v=ok;w=ok;x=ok;pending:moody budget=3 attempts=4"
	)
	w := budgeted(t, first)
	k := &keeping{t: t}
	w.recorder = k
	s := w.get()
	w.addNode("a")
	for _, name := range []string{"p", "q", "v", "k", "w", "r", "x", "s"} {
		w.set(pod(t, name, "namespace=team"))
	}
	w.run()
	w.addNode("b")
	s.Step(t.Context()) // p is rejected again
	if err := w.swap("Guest", guestWith(later)); err != nil {
		t.Fatal(err)
	}
	s.Step(t.Context()) // and so is q
	w.addNode("c")
	s.Step(t.Context()) // q waits, by the new rates, and the attempt for k was paid at the old ones
	w.log.Take()
	k.full = true
	s.Step(t.Context())
	if !k.begun {
		t.Fatal("no segment has begun")
	}
	want := strings.ReplaceAll(w.spend(), "  Bind.bind k to b\n", "")
	replayed := func(lines []string) string {
		w := budgeted(t, later)
		s := w.get()
		for _, line := range lines {
			e, err := inbox.Parse(line)
			if err != nil {
				return err.Error()
			}
			if _, decision := e.(*inbox.Decision); !decision {
				s.Handle(t.Context(), e)
			}
		}
		return w.told()
	}
	if got := replayed(k.lines); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	for _, field := range []string{"rate=3", "all=4", "full=[^ ]+", "has-all-full=true", "held=`[^`]*`", "paid=`[^`]*`", "paid-at=`[^`]*`", ""} {
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

// TestNoNamespaceBudget: a replay of what was recorded before namespaces had budgets is bounded by the plugin's alone.
func TestNoNamespaceBudget(t *testing.T) {
	for _, without := range []bool{false, true} {
		w := newWorld(t, &scenario.Log{})
		w.noNamespaceBudget = without
		w.declare("Guest", guestWith("reserve=pending:moody budget=3 attempts=1"))
		w.addNode("a")
		for _, name := range []string{"p", "q", "r", "s"} {
			w.set(pod(t, name, "namespace=team"))
		}
		w.run()
		w.addNode("b")
		w.log.Take()
		w.run()
		want := 1
		if without {
			want = 3
		}
		if told := w.log.Take(); strings.Count(told, " try 2,") != want {
			t.Errorf("without a budget %v, want %d pods tried again:\n%s", without, want, told)
		}
	}
}
