package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
)

// slowPreBind calls a function in PreBind.
type slowPreBind struct {
	info   plugin.Info
	during func()
}

func (p *slowPreBind) Info() *plugin.Info { return &p.info }

func (p *slowPreBind) PreBindPreFlight(*plugin.Placement) *plugin.Status { return nil }

func (p *slowPreBind) PreBind(*plugin.Placement) (plugin.Directives, *plugin.Status) {
	p.during()
	return plugin.Directives{}, nil
}

// TestMaxUnsent: pods are tried while fewer bindings than the limit wait to be sent. Pods that Permit lets go together may be more,
// and a pod in PreBind waits for something else.
func TestMaxUnsent(t *testing.T) {
	const most, together = 3, 5
	permits := ""
	for i := range together {
		permits += fmt.Sprintf("p%d=wait:10s;", i)
	}
	for _, test := range []struct {
		name           string
		limit          int
		permit         string
		bound, preBind bool // bound: a binding is sent and not answered; preBind: one is in PreBind
		want           int  // binding cycles that have begun and not ended
	}{
		{name: "no limit", want: 10},
		{name: "limit", limit: most, want: most},
		{name: "together", limit: most, permit: permits, want: together},
		{name: "sent", limit: most, bound: true, want: most + 1},
		{name: "in PreBind", limit: most, preBind: true, want: most + 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.maxUnsent, w.held, w.observer = test.limit, true, nil
			w.declare("Fit", scenario.MustParse("fit=yes enforces=requests"))
			if test.permit != "" {
				w.declare("Wait", scenario.MustParse("permit="+test.permit))
			}
			run := func() {
				for w.get().Step(t.Context()) {
				}
			}
			checked := !test.bound && !test.preBind
			check := func() {
				run()
				begun := len(w.spawned)
				if !checked {
					begun++ // the one that calls
				}
				if begun != test.want {
					t.Errorf("%d binding cycles run, want %d", begun, test.want)
				}
				checked = true
			}
			c := w.profiles[0]
			if test.preBind {
				c.Points[abi.PreBind] = []pipeline.Entry{{Plugin: &slowPreBind{plugin.Info{Name: "Slow"}, func() {
					if !checked {
						check()
					}
				}}}}
			}
			if test.bound {
				c.Points[abi.Bind] = []pipeline.Entry{{Plugin: &sentBind{plugin.Info{Name: "Sent"}, func(p *plugin.Placement) error {
					if p.Sent(); !checked {
						check()
					}
					return w.bind(p)
				}}}}
			}
			s := w.get()
			node, _ := fake.Node("n", scenario.MustParse("cpu=10000"))
			s.SetNode(node)
			pods := 10
			if test.permit != "" {
				pods = together
			}
			for i := range pods {
				p, _ := fake.Pod(fmt.Sprintf("p%d", i), scenario.MustParse("cpu=10"))
				w.set(p)
			}
			run()
			for i := range pods {
				if test.permit != "" {
					s.AllowWaiting(types.UID(fmt.Sprintf("p%d", i)), "Wait")
				}
			}
			run()
			if checked {
				check()
			}
			if _, due := s.NextDeadline(); due && test.limit > 0 {
				t.Error("while bindings wait to be sent, the clock wakes the loop")
			}
			for len(w.spawned) > 0 { // each that ends lets others begin
				next := w.spawned[0]
				w.spawned = w.spawned[1:]
				next()
				run()
			}
			if !checked {
				t.Error("nothing was checked")
			}
			for _, p := range w.pods {
				if p.NodeName() == "" {
					t.Errorf("pod %s is not bound", p.Name)
				}
			}
		})
	}
}

// TestFullGoesOn: while as many bindings wait to be sent as may, only attempts wait. The loop handles events, answers questions, lets pods
// go from Permit, and ends when it is told to.
func TestFullGoesOn(t *testing.T) {
	const most, nodes = 2, 100
	w := newWorld(t, nil)
	w.maxUnsent, w.held, w.observer = most, true, nil
	w.declare("Fit", scenario.MustParse("fit=yes enforces=requests"))
	w.declare("Wait", scenario.MustParse("permit=first=wait:1h"))
	s := w.get()
	node, _ := fake.Node("n", scenario.MustParse("cpu=10000"))
	s.SetNode(node)
	for _, name := range []string{"first", "p1", "p2", "p3", "p4"} {
		p := made(t, name, "cpu=10")
		w.pods[p.UID] = p
		s.SetPods(p)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	begun, attempts, seen := 0, uint64(0), 0
	ask := func() {
		if err := s.Do(t.Context(), func() {
			begun, attempts, seen = len(w.spawned), s.Totals().Attempts, s.Snapshot().Len()
		}); err != nil {
			t.Fatal(err)
		}
	}
	for begun < most { // each question is followed by a turn
		ask()
	}
	for i := range nodes {
		node, _ := fake.Node(fmt.Sprint("n", i), scenario.MustParse("cpu=10000"))
		s.SetNode(node)
		if ask(); begun != most || attempts != most+1 || seen != 1 {
			t.Fatalf("%d bindings, %d attempts, the last with %d nodes", begun, attempts, seen)
		}
	}
	s.AllowWaiting("first", "Wait")
	if ask(); begun != most+1 || attempts != most+1 {
		t.Errorf("%d bindings and %d attempts after one was let go", begun, attempts)
	}
	var run []func()
	if err := s.Do(t.Context(), func() { run, w.spawned = w.spawned, nil }); err != nil {
		t.Fatal(err)
	}
	for _, binding := range run {
		binding()
	}
	for begun = 0; begun < most; {
		ask()
	}
	if attempts != 5 || seen != nodes+1 {
		t.Errorf("%d attempts, the last with %d nodes", attempts, seen)
	}
	if err := s.Do(t.Context(), func() { run = w.spawned }); err != nil {
		t.Fatal(err)
	}
	stop()
	for _, binding := range run {
		binding()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// sentBind binds with a function.
type sentBind struct {
	info plugin.Info
	bind func(p *plugin.Placement) error
}

func (b *sentBind) Info() *plugin.Info { return &b.info }

func (b *sentBind) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, plugin.Fail(b.bind(p))
}
