package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/runtime/assembly"
	drawn "github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestScheduler: the answers of guests have the consequences that SPEC.md says.
func TestScheduler(t *testing.T) { conformance.RunScheduler(t, &host{dir: t.TempDir()}) }

// host implements conformance.Scheduler.
type host struct {
	dir   string // for modules
	files int
}

var _ conformance.Scheduler = (*host)(nil)

// world implements conformance.Running: a scheduler and its API server.
type world struct {
	modules  *assembly.Modules
	assembly *assembly.Assembly
	clock    *clock
	pods     map[string]*placed
	bound    int
	version  int
}

// placed is a pod in the API, and what the scheduler reported about it.
type placed struct {
	pod     *state.Pod
	outcome conformance.Outcome
}

// clock stands still until it is set.
type clock struct{ now time.Time }

// Now implements clock.Clock.
func (c *clock) Now() time.Time { return c.now }

// Until implements clock.Clock.
func (c *clock) Until(time.Time) (<-chan struct{}, func()) { return nil, func() {} }

// Start implements conformance.Scheduler.
func (h *host) Start(_ context.Context, plugins []conformance.Plugin) (conformance.Running, error) {
	w := &world{clock: &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, pods: map[string]*placed{}}
	w.modules = assembly.NewModules(assembly.ModulesConfig{VerifyEvery: 1})
	config := assembly.Config{Scheduler: assembly.Default(), Modules: w.modules, Seed: 1, TieBreak: drawn.First, Workers: 1}
	logs := map[string]func(level int, text string){}
	for i := range plugins {
		one := &plugins[i]
		h.files++
		path := filepath.Join(h.dir, fmt.Sprintf("%d.wasm", h.files))
		if err := os.WriteFile(path, one.Module, 0o600); err != nil {
			return nil, err
		}
		m, err := w.modules.Load(module.Reference{Path: path, Name: one.Name, Config: one.Config, Namespaces: one.Namespaces, Grants: one.Grants})
		if err == nil {
			err = m.Enable(config.Scheduler)
		}
		if err != nil {
			return nil, errors.Join(err, w.modules.Close(context.Background()))
		}
		logs[one.Name] = one.Log
	}
	hears := &ear{log: func(plugin string, level int, text string) {
		if log := logs[plugin]; log != nil {
			log(level, text)
		}
	}}
	var err error
	w.assembly, err = assembly.New(config, assembly.Deps{
		Clock: w.clock, Binder: w, Outlet: w, Spawn: func(run func()) { run() }, Log: slog.New(hears),
	})
	return w, err
}

// Close implements conformance.Running.
func (w *world) Close(ctx context.Context) error {
	w.assembly.Close()
	return w.modules.Close(ctx)
}

// Apply implements conformance.Running.
func (w *world) Apply(_ context.Context, c conformance.Change) error {
	s := w.assembly.Scheduler
	switch {
	case c.Node != nil && c.Delete:
		s.DeleteNode(c.Node.Metadata.Name)
	case c.Node != nil:
		s.SetNode(state.NewNode(object[v1.Node](c.Node)))
	case c.Namespace != nil && c.Delete:
		s.DeleteNamespace(c.Namespace.Metadata.Name)
	case c.Namespace != nil:
		s.SetNamespace(state.NewNamespace(object[v1.Namespace](c.Namespace)))
	case c.Delete:
		delete(w.pods, c.Pod.Metadata.Namespace+"/"+c.Pod.Metadata.Name)
		s.DeletePod(types.UID(c.Pod.Metadata.UID))
	default:
		p := object[v1.Pod](c.Pod)
		p.Spec.SchedulerName = "default-scheduler"
		w.set(state.NewPod(p))
	}
	return nil
}

// set stores a pod in the API and informs the scheduler.
func (w *world) set(p *state.Pod) *placed {
	key := p.Namespace + "/" + p.Name
	if w.pods[key] == nil {
		w.pods[key] = &placed{}
	}
	w.pods[key].pod = p
	w.assembly.Scheduler.SetPods(p)
	return w.pods[key]
}

// Settle implements conformance.Running: the clock goes from deadline to deadline.
func (w *world) Settle(ctx context.Context, d time.Duration) error {
	end := w.clock.now.Add(d)
	for range 10_000 {
		if w.assembly.Scheduler.Step(ctx) {
			continue
		}
		next, ok := w.assembly.Scheduler.NextDeadline()
		if !ok || next.After(end) {
			w.clock.now = end
			return nil
		}
		if next.After(w.clock.now) {
			w.clock.now = next
		}
	}
	return errors.New("the scheduler does not become idle")
}

// Outcome implements conformance.Running.
func (w *world) Outcome(_ context.Context, namespace, name string) (*conformance.Outcome, error) {
	p := w.pods[namespace+"/"+name]
	if p == nil {
		return nil, fmt.Errorf("there is no pod %s/%s", namespace, name)
	}
	out := p.outcome
	out.Node, out.Labels, out.Annotations = p.pod.Object.Spec.NodeName, p.pod.Object.Labels, p.pod.Object.Annotations
	for place, q := range w.assembly.Scheduler.Queued() {
		if q.Pod.UID != p.pod.UID {
			continue
		}
		out.Waiting = place == queue.InFlight // between attempts only pods at Permit are in flight
		if place == queue.Gated {
			out.Message = q.GateReason
		}
	}
	return &out, nil
}

// Bind implements objects.Binder: the patch is written with the binding, and the watch confirms
// it.
func (w *world) Bind(_ context.Context, b objects.Binding) error {
	p := w.set(b.Pod.On(b.Node, b.Patch))
	w.bound++
	p.outcome = conformance.Outcome{Order: w.bound}
	return nil
}

// Scheduled implements scheduler.Outlet.
func (w *world) Scheduled(*state.Pod, string, state.Feature) {}

// Failed implements scheduler.Outlet.
func (w *world) Failed(f scheduler.Failure) {
	p := w.pods[f.Pod.Namespace+"/"+f.Pod.Name]
	if p == nil {
		return
	}
	p.outcome.Message = f.Message
	if f.Override && p.outcome.Nominated != f.Nominated {
		w.nominate(f.Pod, f.Nominated)
	}
}

// Binding implements scheduler.Outlet.
func (*world) Binding(context.Context, *state.Pod) error { return nil }

// NominationCleared implements scheduler.Outlet.
func (w *world) NominationCleared(pod *state.Pod) { w.nominate(pod, "") }

// Preempted implements scheduler.Outlet.
func (w *world) Preempted(scheduler.Preempted) {}

// nominate writes status.nominatedNodeName.
func (w *world) nominate(pod *state.Pod, node string) {
	status := pod.Object.DeepCopy()
	w.version++
	status.Status.NominatedNodeName, status.ResourceVersion = node, fmt.Sprint(w.version)
	w.set(state.NewPod(status)).outcome.Nominated = node
}

// object converts an object of the kit to an API object, which has the same JSON.
func object[K any](from any) *K {
	text, err := json.Marshal(from)
	if err != nil {
		panic(err)
	}
	out := new(K)
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

// ear receives what plugins log.
type ear struct {
	log func(plugin string, level int, text string)
}

var _ slog.Handler = (*ear)(nil)

// Enabled implements slog.Handler.
func (e *ear) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (e *ear) WithAttrs([]slog.Attr) slog.Handler { return e }

// WithGroup implements slog.Handler.
func (e *ear) WithGroup(string) slog.Handler { return e }

// Handle implements slog.Handler. A record logged by a guest has only its plugin's name as
// attribute.
func (e *ear) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value.String()
		return true
	})
	if attrs["plugin"] != "" && len(attrs) == 1 {
		e.log(attrs["plugin"], int(r.Level-slog.LevelDebug)/4, r.Message)
	}
	return nil
}
