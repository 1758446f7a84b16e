package scheduler_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// indebted returns a world with a tenant's plugin and a module for all namespaces.
func indebted(t *testing.T) *world {
	w := newWorld(t, &scenario.Log{})
	w.declare("Guest", scenario.MustParse("filter=ok overlay=ok namespaces=late,old,team"))
	w.declare("Module", scenario.MustParse("filter=ok overlay=ok digest=sha256:1"))
	if err := errors.Join(w.native("NodeResourcesFit"), w.native("DefaultPreemption")); err != nil {
		t.Fatal(err)
	}
	return w
}

func pod(t *testing.T, name, options string) *state.Pod {
	p, err := fake.Pod(name, scenario.MustParse(options))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tell lets pods of all debtors preempt, as far as they may, and returns what happened.
func (w *world) tell(t *testing.T) string {
	w.run()
	w.clock.Advance(23*time.Hour + 58*time.Minute)
	w.run()
	for _, namespace := range []string{"late", "old", "team"} {
		w.set(pod(t, "of-"+namespace, "cpu=600 priority=3 namespace="+namespace))
		w.run()
	}
	return w.told() + w.owed()
}

// TestCheckpointOfDebts: each field of an account is needed.
func TestCheckpointOfDebts(t *testing.T) {
	w := indebted(t)
	k := &keeping{t: t}
	w.recorder, w.lingers = k, true
	s := w.get()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		node, err := fake.Node(name, scenario.Args{})
		if err != nil {
			t.Fatal(err)
		}
		s.SetNode(node)
		w.set(pod(t, "v-"+name, "cpu=800 priority=1 on="+name))
	}
	w.run()
	now := w.clock.Now()
	for _, e := range []*inbox.Debt{
		{Namespace: "team", For: "p", Name: "team/p", Made: 1, Step: 1, Until: now.Add(7 * time.Minute), Since: now},
		{Namespace: "late", For: "l", Name: "late/l", Step: 2, Since: now},
		{Namespace: "old", Step: 3, Since: now.Add(-time.Minute)},
		{Pod: "m", For: "m", Name: "ns/m", Made: 2, Since: now},
	} {
		s.Handle(t.Context(), e)
	}
	k.full = true
	s.Step(t.Context())
	if !k.begun {
		t.Fatal("no segment has begun")
	}
	w.log.Take()
	w.set(pod(t, "p", "cpu=500 priority=3 namespace=team"), pod(t, "m", "cpu=500 priority=3"), pod(t, "l", "cpu=0 on=b namespace=late"))
	want := w.tell(t)
	replayed := func(lines []string) string {
		w := indebted(t)
		w.held, w.writes = true, false
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
		return w.told() + w.owed()
	}
	if got := replayed(k.lines); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	for _, field := range []string{
		"namespace=team", "namespace=old", "pod=m", "for=l", "name=[^ ]+", "made=2", "step=1", "step=2", "step=3", "has-until=true until=[^ ]+", "since=[^ ]+", "",
	} {
		lines, found := make([]string, 0, len(k.lines)), false
		for _, line := range k.lines {
			next := line
			if strings.HasPrefix(line, "debt ") {
				next = regexp.MustCompile(" "+field).ReplaceAllString(line, "")
			}
			found = found || next != line
			lines = append(lines, next)
		}
		if got := replayed(lines); !found || got == want {
			t.Errorf("%s is not needed, or not there: %t", field, found)
		}
	}
}

// TestCheckpointOfPreemption: a scheduler that is restored while evictions run takes back the same debts when they fail.
func TestCheckpointOfPreemption(t *testing.T) {
	w := indebted(t)
	w.recorder, w.held = &keeping{t: t}, true
	for _, name := range []string{"a", "b"} {
		node, err := fake.Node(name, scenario.Args{})
		if err != nil {
			t.Fatal(err)
		}
		w.get().SetNode(node)
		w.set(pod(t, "v-"+name, "cpu=800 priority=1 on="+name))
	}
	w.set(pod(t, "p", "cpu=500 priority=3 namespace=team"))
	w.run()
	during := w.checkpoint(t)
	if n := len(accounts(during)); n != 2 {
		t.Fatalf("%d accounts while the eviction runs, want those of the namespace and of the pod\n%s", n, strings.Join(during, "\n"))
	}
	// failed returns the accounts after the eviction has failed, without a field of the checkpoint.
	failed := func(without string) []string {
		w := indebted(t)
		w.recorder = &keeping{t: t}
		for _, line := range during {
			e, err := inbox.Parse(strings.ReplaceAll(line, without, ""))
			if err != nil {
				t.Fatal(err)
			}
			w.get().Handle(t.Context(), e)
		}
		w.get().Handle(t.Context(), &inbox.Evicted{Eviction: 1, Err: "forbidden"})
		return accounts(w.checkpoint(t))
	}
	for without, want := range map[string]int{"(nothing)": 0, `,"namespaceOwes":true`: 1, `,"podOwes":true`: 1} {
		if got := failed(without); len(got) != want {
			t.Errorf("without %s: %q", without, got)
		}
	}
}

// checkpoint returns the lines of a segment that begins now.
func (w *world) checkpoint(t *testing.T) []string {
	k := w.recorder.(*keeping)
	k.full, k.begun = true, false
	w.get().Step(t.Context())
	if !k.begun {
		t.Fatal("no segment has begun")
	}
	return k.lines
}

// accounts are the lines about debts.
func accounts(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "debt ") })
}

// TestContentsHaveDebts: who asks about the cluster knows what is owed. Namespaces of nominated pods that owe nothing say so,
// or it would be opened again where it was paid or forgiven.
func TestContentsHaveDebts(t *testing.T) {
	w := indebted(t)
	w.lingers = true
	node, err := fake.Node("a", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	w.get().SetNode(node)
	w.set(pod(t, "v", "cpu=800 priority=1 on=a"), pod(t, "p", "cpu=500 priority=3 namespace=team"))
	w.run()
	if c := w.get().Contents(); len(c.Debts) != 2 || c.Debts[1].Namespace != "team" || c.Debts[1].Until != c.At.Add(5*time.Minute) {
		t.Errorf("%+v at %v", c.Debts, c.At)
	}
	w.get().ForgiveDebt("team", "")
	w.run()
	c := w.get().Contents()
	if n := len(c.Debts); len(c.Nominated) != 1 || n != 2 || c.Debts[n-1].Namespace != "team" || !c.Debts[n-1].Until.IsZero() {
		t.Errorf("%+v after it was forgiven, %d nominated", c.Debts, len(c.Nominated))
	}
}
