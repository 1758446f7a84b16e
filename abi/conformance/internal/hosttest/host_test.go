// Package hosttest runs the conformance kit against Berth's own host, apart from the
// kit, so that the kit does not depend on a host.
package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestHost: Berth is a host as SPEC.md says.
func TestHost(t *testing.T) {
	r, err := wasm.NewRuntime(wasm.RuntimeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conformance.Run(t, &host{runtime: r, dir: t.TempDir()})
}

// host implements conformance.Scheduler.
type host struct {
	runtime *wasm.Runtime
	dir     string // of modules
	files   int
}

var _ conformance.Scheduler = (*host)(nil)

// profile implements conformance.Profile over a cache.
type profile struct {
	plugins  []*loaded
	cache    *cache.Cache
	snapshot *state.Snapshot
	cluster  *cluster.Cluster // as in the cache
	seed     uint64
	bound    *objects.Binding // the last one
}

// loaded is a plugin, with what it says of faults.
type loaded struct {
	*wasm.Plugin
	name   string
	man    *wire.Manifest
	module *wasm.Module
	ear    *ear
}

// Load implements conformance.Host.
func (h *host) Load(ctx context.Context, plugins []conformance.Plugin) (conformance.Profile, error) {
	p := &profile{cache: cache.New(cache.Config{}), snapshot: state.NewSnapshot(), cluster: &cluster.Cluster{}}
	for i := range plugins {
		pl, err := h.load(ctx, p, &plugins[i])
		if err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
		p.plugins = append(p.plugins, pl)
	}
	return p, nil
}

func (h *host) load(ctx context.Context, p *profile, one *conformance.Plugin) (*loaded, error) {
	m, err := wire.ReadModule(one.Module)
	if err != nil {
		return nil, err
	}
	man, err := wire.ReadManifest(m, one.Name)
	if err != nil {
		return nil, err
	}
	if err := wire.Check(m, man, one.Name); err != nil {
		return nil, err
	}
	if len(man.Config) == 0 && len(one.Config) > 0 && string(one.Config) != "{}" {
		return nil, errors.New("the module has no configuration (ABI-9.8)") // runtime/module holds it against the schema
	}
	out := &loaded{name: one.Name, man: man, ear: &ear{log: func(_ string, level int, text string) { one.Log(level, text) }}}
	if out.module, err = h.runtime.Load(ctx, one.Module); err != nil {
		return nil, err
	}
	c := wasm.Config{
		Name: one.Name, Config: one.Config, Namespaces: one.Namespaces, Grants: one.Grants, Policies: map[abi.Point]wasm.Policy{},
		Breaker: wasm.BreakerConfig{Faults: -1}, CrashOnBug: true,
		Limits: wasm.Limits{FuelBase: 100_000_000, FuelPerCycle: 1 << 40}, // dumps are work
	}
	if one.Verify {
		c.VerifyEvery = 1
	}
	for _, point := range abi.Points() {
		c.Policies[point] = wasm.Fail
	}
	d := wasm.Deps{Factory: out.module, Manifest: man, Binder: p, Namespace: p.namespace, Log: slog.New(out.ear)}
	if out.Plugin, err = wasm.New(ctx, c, d); err != nil {
		return nil, errors.Join(err, out.module.Close(ctx))
	}
	for _, other := range p.plugins {
		if other.man.Points.QueueSort != nil && man.Points.QueueSort != nil && !out.SameOrder(other.Plugin) {
			return nil, errors.New("all profiles sort by the same module (ABI-5.11)")
		}
	}
	return out, nil
}

// Close implements conformance.Profile.
func (p *profile) Close(ctx context.Context) error {
	var errs []error
	for _, pl := range p.plugins {
		errs = append(errs, pl.Close(ctx), pl.module.Close(ctx))
	}
	return errors.Join(errs...)
}

// Bind implements objects.Binder.
func (p *profile) Bind(_ context.Context, b objects.Binding) error {
	p.bound = &b
	return nil
}

func (p *profile) namespace(name string) *state.Namespace {
	if n := p.cluster.Namespace(name); n != nil {
		return state.NewNamespace(object[v1.Namespace](n))
	}
	return nil
}

// object makes an API object of one of the kit's, which has the same JSON.
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

func podOf(p *cluster.Pod) *state.Pod {
	if p == nil {
		return nil
	}
	return state.NewPod(object[v1.Pod](p))
}

func nodeOf(n *cluster.Node) *state.Node {
	if n == nil {
		return nil
	}
	return state.NewNode(object[v1.Node](n))
}

// Begin implements conformance.Profile: the cache is brought from the last cluster
// to this one.
func (p *profile) Begin(ctx context.Context, c *cluster.Cluster, pod *cluster.Pod) (conformance.Cycle, error) {
	old := p.cluster
	for i := range old.Pods {
		p.cache.RemovePod(types.UID(old.Pods[i].Metadata.UID))
	}
	for i := range old.Nodes {
		if name := old.Nodes[i].Metadata.Name; c.Node(name) == nil {
			p.cache.RemoveNode(name)
		}
	}
	for i := range old.Namespaces {
		if name := old.Namespaces[i].Metadata.Name; c.Namespace(name) == nil {
			p.cache.RemoveNamespace(name)
		}
	}
	if err := fill(p.cache, c, ""); err != nil {
		return nil, err
	}
	p.cluster = c
	p.cache.UpdateSnapshot(p.snapshot)
	p.seed++
	if pod == nil {
		pod = &cluster.Pod{}
	}
	return &cycle{profile: p, cluster: c, Cycle: plugin.Cycle{
		Context: ctx, Snapshot: p.snapshot, Pod: podOf(pod), State: &state.CycleState{}, Seed: p.seed * 0x9e3779b97f4a7c15,
	}}, nil
}

// fill adds a cluster to a cache, without one of the pods.
func fill(to *cache.Cache, c *cluster.Cluster, without types.UID) error {
	for i := range c.Namespaces {
		to.AddNamespace(state.NewNamespace(object[v1.Namespace](&c.Namespaces[i])))
	}
	for i := range c.Nodes {
		to.AddNode(nodeOf(&c.Nodes[i]))
	}
	for i := range c.Pods {
		if types.UID(c.Pods[i].Metadata.UID) == without {
			continue
		}
		if _, err := to.AddPod(podOf(&c.Pods[i])); err != nil {
			return err
		}
	}
	return nil
}

func (p *profile) plugin(name string) *loaded {
	return p.plugins[slices.IndexFunc(p.plugins, func(pl *loaded) bool { return pl.name == name })]
}

// ear hears what a plugin logs, and its faults.
type ear struct {
	log   func(plugin string, level int, text string)
	mu    sync.Mutex
	kind  string // of a fault
	words string // what the fault quotes
	other bool   // something else went wrong
}

var _ slog.Handler = (*ear)(nil)

// Enabled implements slog.Handler.
func (e *ear) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (e *ear) WithAttrs([]slog.Attr) slog.Handler { return e }

// WithGroup implements slog.Handler.
func (e *ear) WithGroup(string) slog.Handler { return e }

// Handle implements slog.Handler.
func (e *ear) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value.String()
		return true
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Message == "plugin fault":
		e.kind = attrs["kind"]
		e.words += attrs["detail"]
	case strings.HasPrefix(r.Message, "plugin gives no keys"):
		e.other = true
	case attrs["plugin"] != "" && len(attrs) == 1:
		e.log(attrs["plugin"], int(r.Level+4)/4, r.Message)
	}
	return nil
}

// fault returns the kind of the last fault in the kit's words, and begins anew.
func (e *ear) fault() (kind conformance.Fault, words string, other bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := map[wasm.Kind]conformance.Fault{
		wasm.Trap: conformance.FaultTrap, wasm.Output: conformance.FaultAnswer, wasm.Denied: conformance.FaultAnswer,
		wasm.WroteSnapshot: conformance.FaultRegion, wasm.NoMemory: conformance.FaultMemory, wasm.Start: conformance.FaultMemory,
	}
	if kind = known[wasm.Kind(e.kind)]; kind == "" && e.kind != "" {
		kind = conformance.Fault(e.kind)
	}
	words, other = e.words, e.other
	e.kind, e.words, e.other = "", "", false
	return kind, words, other
}
