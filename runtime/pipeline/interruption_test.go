package pipeline_test

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
)

// binding is a plugin whose PreBind and Bind are functions.
type binding struct {
	info          plugin.Info
	preBind, bind func(p *plugin.Placement)
	skips         bool
}

func (b *binding) Info() *plugin.Info { return &b.info }

func (b *binding) PreBindPreFlight(*plugin.Placement) *plugin.Status {
	if b.skips {
		return plugin.NewStatus(abi.Skip)
	}
	return nil
}

func (b *binding) PreBind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	b.preBind(p)
	return plugin.Directives{}, nil
}

func (b *binding) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	b.bind(p)
	return plugin.Directives{}, nil
}

// TestInterruption: a binding cycle ends if it is interrupted during PreBind, even
// by a plugin that pays no heed, and cannot be before or after.
func TestInterruption(t *testing.T) {
	why, late := errors.New("preempted by P"), errors.New("too late")
	for name, test := range map[string]struct {
		skips bool
		calls int  // of Interrupt, during PreBind
		bound bool // afterwards
	}{
		"not interrupted":    {bound: true},
		"interrupted":        {calls: 1},
		"twice":              {calls: 2},
		"PreBind is skipped": {skips: true, calls: 1, bound: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.declare("Sort", scenario.MustParse("sort="))
			var b *pipeline.Binding
			bound := false
			p := &binding{info: plugin.Info{Name: "B"}, skips: test.skips}
			p.preBind = func(placement *plugin.Placement) {
				for i := range test.calls {
					cause := why
					if i > 0 {
						cause = late
					}
					if !b.Interruption().Interrupt(cause) {
						t.Error("PreBind cannot be interrupted")
					}
					if got := context.Cause(placement.Context); !errors.Is(got, why) {
						t.Errorf("the context of PreBind ends with %v", got)
					}
				}
			}
			p.bind = func(placement *plugin.Placement) {
				bound = true
				if b.Interruption().Interrupt(late) || placement.Context.Err() != nil {
					t.Error("Bind was interrupted")
				}
			}
			for _, point := range []abi.Point{abi.PreBind, abi.Bind} {
				w.config.Points[point] = []pipeline.Entry{{Plugin: p}}
			}
			pod, _ := fake.Pod("p", scenario.MustParse("on=a"))
			node, _ := fake.Node("a", scenario.Args{})
			b = w.get().NewBinding(plugin.Placement{Context: t.Context(), Pod: pod, Node: node}, pipeline.Try{})
			interruption := b.Interruption()
			if interruption.Interrupt(late) {
				t.Error("interrupted before PreBind")
			}
			_, status := b.Bind()
			if bound != test.bound || status.Success() != test.bound || !test.bound && !errors.Is(status.AsError(), why) {
				t.Errorf("bound %v, status %v", bound, status)
			}
			b.Release(nil, nil)
			if next := w.get().NewBinding(plugin.Placement{Pod: pod}, pipeline.Try{}); next != b || next.Interruption() == interruption {
				t.Error("the next pod's binding could be interrupted in place of this one's")
			}
		})
	}
	var none *pipeline.Interruption
	if none.Interrupt(late) {
		t.Error("a profile without PreBind plugins was interrupted")
	}
}
