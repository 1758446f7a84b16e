// Package replay repeats a recording without a cluster: the scheduler handles the recorded events, and
// each of its decisions must be the recorded one. What runs beside the loop does not run; its results are
// events.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// Config configures a replay.
type Config struct {
	// Modules makes the plugins that are modules; it has a folder for those of the recording.
	Modules *assembly.Modules
	// Workers is as in assembly.Config, and so is Reuse; nil means as recorded.
	Workers int
	Reuse   *equivalence.Config
	// Pod is a pod after whose attempt the replay stops; the zero value for none. Try is the number of
	// that attempt among the pod's, from 1.
	Pod types.NamespacedName
	Try int
	// Until (optional) is the time after which the replay stops, between two attempts; the zero value for none.
	Until time.Time
	// Reached (optional) is called where the replay has ended, unless a decision differs, with the
	// scheduler and the objects that its plugins see.
	Reached func(a *assembly.Assembly, s *stores.Stores) error
	// Observe (optional) returns who sees attempts and endings; now returns the time in the recording.
	Observe func(now func() time.Time) scheduler.Observer
	// Progress (optional) is called with the number of decisions so far.
	Progress func(decisions int)
	Log      *slog.Logger // optional
}

// Result is the result of a replay whose decisions were all as recorded.
type Result struct {
	// Kubernetes is the minor version of Kubernetes 1 whose defaults and texts the recorded plugins had.
	Kubernetes uint64
	// Reworded counts the decisions with other texts than recorded, and RewordedAt is the number of the first one's event. In
	// recordings of formats up to 6 there are none, because texts are part of their decisions.
	Reworded, RewordedAt int
	// Events and Decisions count what was repeated, and Placed the decisions for a node.
	Events, Decisions, Placed int
	// Cut is true if the recording was not closed. Why says why it was closed although its scheduler went on.
	Cut bool
	Why string
	// Attempt is that of Config.Pod; nil if there was none.
	Attempt *report.Attempt
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// end is when the recording ends, as far as it was read.
func (p *player) end() string {
	if p.passed {
		return "later"
	}
	return stamp(p.clock.Now())
}

// Run repeats a recording from its beginning.
//
// # Errors
//
// A *Difference; the recording is damaged, lacks what it takes, or has a configuration that cannot be
// used; the context ended.
func Run(ctx context.Context, r *record.Reader, config Config) (*Result, error) {
	p := &player{config: config, reader: r, ranks: make(map[string]uint64), result: &Result{}}
	defer func() {
		if p.assembly != nil {
			p.assembly.Close()
		}
	}()
	for !p.done {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e, err := p.take()
		if errors.Is(err, io.EOF) || errors.Is(err, record.ErrCut) {
			p.result.Cut = errors.Is(err, record.ErrCut)
			break
		}
		if err == nil {
			err = p.play(ctx, e)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.settings == nil {
		return nil, errors.New("it ends before the settings of the scheduler, so there is nothing to repeat")
	}
	p.result.Events, p.result.Why = r.Read()-len(p.ahead), r.Why()
	if until := config.Until; !until.IsZero() && p.clock != nil && (until.Before(p.settings.Start) || !p.passed && until.After(p.clock.Now())) {
		return nil, fmt.Errorf("%s is outside of the recording, which is from %s to %s", stamp(until), stamp(p.settings.Start), p.end())
	}
	if config.Reached != nil {
		if p.assembly == nil {
			return nil, errors.New("nothing happened before, so there is no cluster")
		}
		if err := record.Guard(config.Log, func() error { return config.Reached(p.assembly, p.stores) }); err != nil {
			return nil, err
		}
	}
	return p.result, nil
}

// player is a replay.
type player struct {
	config   Config
	reader   *record.Reader
	ahead    []inbox.Event // read, but not played, the next one last
	settings *inbox.Settings
	clock    *clock.Step
	stores   *stores.Stores
	assembly *assembly.Assembly
	observer scheduler.Observer // may be nil
	ranks    map[string]uint64
	said     said                  // by extenders, in the step to come
	late     late                  // calls of modules, in what is about to be handled
	passed   bool                  // Config.Until was
	cutOff   map[inbox.CutOff]bool // in the step that is about to be handled
	decision *inbox.Decision       // of the last step; nil if there is none
	attempt  *report.Attempt       // of the last step, if it is wanted
	done     bool
	result   *Result
}

func (p *player) take() (inbox.Event, error) {
	if n := len(p.ahead); n > 0 {
		e := p.ahead[n-1]
		p.ahead = p.ahead[:n-1]
		return e, nil
	}
	return p.reader.Next()
}

// event is the number of the last event that was taken.
func (p *player) event() int { return p.reader.Read() - len(p.ahead) }

// back undoes the takes of events.
func (p *player) back(events ...inbox.Event) {
	slices.Reverse(events)
	p.ahead = append(p.ahead, events...)
}

// play handles one event of the recording.
func (p *player) play(ctx context.Context, e inbox.Event) error {
	switch e := e.(type) {
	case *inbox.Settings:
		if p.settings != nil {
			return fmt.Errorf("event %d: there are two settings", p.reader.Read())
		}
		p.settings = e
		return replayable(e.Lacks)
	case *inbox.Module:
		return p.module(e)
	case *inbox.End:
		p.done = true
		return nil
	case *inbox.Decision:
		return p.difference(e, nil)
	}
	if p.settings == nil {
		return errors.New("the recording does not begin with settings")
	}
	if p.assembly == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	switch e := e.(type) {
	case *inbox.Rank:
		p.ranks[e.Node] = e.Rank
		return nil
	case *inbox.Budgets:
		p.stores.Budgets.Set(e.List)
		return nil
	case *inbox.Swap:
		if err := replayable(e.Lacks); err != nil {
			return err
		}
		if err := p.swap(ctx, e); err != nil {
			return err
		}
	case *inbox.Clock:
		if !p.config.Until.IsZero() && e.At.After(p.config.Until) {
			p.done, p.passed = true, true
			return nil
		}
		p.clock.Set(e.At)
	case *inbox.Step:
		return p.step(ctx, e)
	}
	p.late.all = nil
	if _, err := p.answers(false); err != nil {
		return err
	}
	return p.handle(ctx, e)
}

// handle has the scheduler handle an event. One that does not follow from those before it, as in a recording that was
// edited, is an error.
func (p *player) handle(ctx context.Context, e inbox.Event) error {
	if err := record.Guard(p.config.Log, func() error {
		p.assembly.Scheduler.Handle(ctx, e)
		var caught *plugin.Panic
		if errors.As(p.assembly.Scheduler.Broken(), &caught) {
			return fmt.Errorf("%s, in %s (if the recording is as it was written, please report this)", caught.Value, caught.What)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("event %d cannot be handled here: %w", p.event(), err)
	}
	return nil
}

func replayable(lacks string) error {
	if lacks != "" {
		return fmt.Errorf("the recording cannot be replayed: %s", lacks)
	}
	return nil
}

// answers takes in what was asked for during the event that is about to be handled. For a step it takes
// the decision, too, and returns it. If the recording ends before it is known what a step decided, the
// replay is done.
func (p *player) answers(step bool) (recorded *inbox.Decision, err error) {
	var early []inbox.Event
	for {
		e, err := p.take()
		if err != nil {
			p.back(early...)
			if step && (errors.Is(err, io.EOF) || errors.Is(err, record.ErrCut)) {
				p.done, p.result.Cut = true, errors.Is(err, record.ErrCut)
				return nil, nil
			}
			if errors.Is(err, io.EOF) || errors.Is(err, record.ErrCut) {
				return nil, nil // the next take says so again
			}
			return nil, err
		}
		switch e := e.(type) {
		case *inbox.Rank:
			p.ranks[e.Node] = e.Rank
			continue
		case *inbox.Budgets:
			p.stores.Budgets.Set(e.List)
			continue
		case *inbox.Answer:
			p.said.all = append(p.said.all, e)
			continue
		case *inbox.CutOff:
			p.cutOff[*e] = true
			continue
		case *inbox.Overrun:
			p.late.all = append(p.late.all, e)
			continue
		case *inbox.Module: // a swap is prepared beside the loop
			if err := p.module(e); err != nil {
				return nil, err
			}
			continue
		case *inbox.Object:
			if e.Early && step {
				early = append(early, e)
				continue
			}
		case *inbox.Decision:
			if step {
				for _, e := range early {
					p.stores.Change(e.(*inbox.Object).Object, false)
				}
				return e, p.acted()
			}
		case *inbox.End:
			p.done = p.done || step // the attempt was cut off, or there was none
		}
		p.back(append(early, e)...)
		return nil, nil
	}
}

// acted takes in the calls of modules that ended while the loop acted on a decision.
func (p *player) acted() error {
	for {
		e, err := p.take()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, record.ErrCut):
			return nil // the next take says so again
		case err != nil:
			return err
		}
		switch e := e.(type) {
		case *inbox.Overrun:
			p.late.all = append(p.late.all, e)
		case *inbox.CutOff: // it was for a plugin in shadow, which a replay does not try
		default:
			p.back(e)
			return nil
		}
	}
}

// step repeats a turn of the loop and compares the decision.
func (p *player) step(ctx context.Context, e *inbox.Step) error {
	p.said.all, p.late.all = nil, nil
	p.cutOff = make(map[inbox.CutOff]bool)
	recorded, err := p.answers(true)
	if err != nil || p.done {
		return err
	}
	p.decision, p.attempt = nil, nil
	if err := p.handle(ctx, e); err != nil {
		return err
	}
	if recorded == nil && p.decision == nil {
		return nil
	}
	if recorded == nil || p.decision == nil || !same(*recorded, *p.decision) {
		return p.difference(recorded, p.decision)
	}
	if recorded.Texts != p.decision.Texts {
		if p.result.Reworded++; p.result.Reworded == 1 {
			p.result.RewordedAt = p.event()
		}
	}
	p.result.Decisions++
	if recorded.Node != "" {
		p.result.Placed++
	}
	if p.config.Progress != nil {
		p.config.Progress(p.result.Decisions)
	}
	if p.attempt != nil && p.attempt.Try >= p.config.Try {
		p.result.Attempt, p.done = p.attempt, true
	}
	return nil
}

// begin makes the scheduler.
func (p *player) begin() error {
	c, err := assembly.Replayed(p.settings, p.config.Modules)
	if err != nil {
		return err
	}
	p.result.Kubernetes = c.Kubernetes
	c.Workers, c.AllRows = p.config.Workers, p.config.Pod != types.NamespacedName{}
	if p.config.Reuse != nil {
		c.Reuse = *p.config.Reuse
	}
	p.clock, p.stores = clock.NewStep(p.settings.Start), stores.New()
	if p.config.Observe != nil {
		p.observer = p.config.Observe(p.clock.Now)
	}
	if p.settings.Ranked {
		c.Rank = func(node string) uint64 { return p.ranks[node] }
	}
	p.assembly, err = assembly.New(c, assembly.Deps{
		Clock: p.clock, Binder: nowhere{}, Outlet: nowhere{}, Observer: p, Recorder: p, Tape: p.said.answer,
		Objects: p.stores, Budgets: p.stores.Budgets, Storage: hostplugins.Storage{Objects: p.stores.Storage.Objects()},
		Devices: hostplugins.NewDevices(p.stores.Storage.Devices(), nowhere{}, nowhere{}), CutOff: func(node string, search uint64) bool { return p.cutOff[inbox.CutOff{Node: node, Search: search}] }, Overrun: p.late.overrun,
		Services: p.stores.Owners, Controllers: p.stores.Owners,
		Spawn: func(func()) {}, Log: p.config.Log,
	})
	if err != nil {
		return err
	}
	return p.runnable()
}

// runnable refuses a recording with a plugin that ran there and does not run here: there is too little memory, say.
func (p *player) runnable() error {
	for name, err := range p.assembly.Refusals() {
		return fmt.Errorf("the recorded plugin %s does not run here: %w", name, err)
	}
	return nil
}

// swap makes the plugins of another configuration. The scheduler takes them with the event.
func (p *player) swap(ctx context.Context, e *inbox.Swap) error {
	settings := *p.settings
	settings.Config, settings.Attached = e.Config, e.Attached
	c, err := assembly.Replayed(&settings, p.config.Modules)
	if err != nil {
		return err
	}
	if err := p.assembly.ReloadAll(ctx, c.Scheduler, c.Attached); err != nil {
		return err
	}
	return p.runnable()
}

func (p *player) module(e *inbox.Module) error {
	if err := p.config.Modules.AddRecorded(e); err != nil {
		return fmt.Errorf("event %d: %w", p.reader.Read(), err)
	}
	return nil
}

// Enter implements inbox.Recorder. It keeps the decision.
func (p *player) Enter(e inbox.Event) {
	if d, ok := e.(*inbox.Decision); ok {
		p.decision = d
	}
}

// Attempted implements scheduler.Observer.
func (p *player) Attempted(a *report.Attempt, name func(row uint32) string) {
	if a.Namespace == p.config.Pod.Namespace && a.Pod == p.config.Pod.Name {
		p.attempt = a.Clone(name)
	}
	if p.observer != nil {
		p.observer.Attempted(a, name)
	}
}

// Ended implements scheduler.Observer.
func (p *player) Ended(e *report.Ending) {
	if p.observer != nil {
		p.observer.Ended(e)
	}
}
