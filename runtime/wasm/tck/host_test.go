package tck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/objectview"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestHost plays the kit's cases against package wasm.
func TestHost(t *testing.T) {
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: t.TempDir()})
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

// host is package wasm as the kit sees it.
type host struct {
	runtime *sandbox.Runtime
	dir     string
	files   int
}

// Load implements conformance.Host.
func (h *host) Load(ctx context.Context, plugins []conformance.Plugin) (conformance.Profile, error) {
	p := &profile{
		plugins: map[string]*wasm.Plugin{}, cache: cache.New(cache.Config{}), snapshot: state.NewSnapshot(),
		nodes: map[string]bool{}, pods: map[string]*state.Pod{}, namespaces: map[string]*state.Namespace{},
	}
	for i := range plugins {
		if err := h.load(ctx, p, &plugins[i]); err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
	}
	return p, nil
}

func (h *host) load(ctx context.Context, p *profile, c *conformance.Plugin) error {
	h.files++
	path := filepath.Join(h.dir, fmt.Sprint(h.files, ".wasm"))
	if err := os.WriteFile(path, c.Module, 0o600); err != nil {
		return err
	}
	loaded, err := module.Load(module.Reference{Path: path, Name: c.Name, Config: c.Config, Namespaces: c.Namespaces, Grants: c.Grants})
	if err != nil {
		return err
	}
	for _, view := range loaded.Manifest.ObjectViews() {
		if p.columns == nil {
			p.columns = map[string][]string{}
		}
		p.views, p.columns[view.Key()] = append(p.views, view), loaded.Manifest.Reads.ObjectColumns
	}
	if loaded.Manifest.Points.QueueSort != nil {
		if p.sorts++; p.sorts > 1 {
			return errors.New("two plugins sort the queue") // which runtime/assembly refuses in a profile
		}
	}
	code, err := h.runtime.Load(ctx, c.Module)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, code.Close)
	config := wasm.Config{
		Name: c.Name, Config: loaded.Config, Namespaces: c.Namespaces, Grants: loaded.Grants, Shards: 2, CrashOnBug: true,
		Limits:   sandbox.Limits{LogSize: 64 << 20}, // the puppets log their memory
		Policies: map[abi.Point]fault.Policy{}, Breaker: breaker.Config{Faults: -1},
	}
	for _, point := range abi.Points() {
		config.Policies[point] = fault.Fail // so that every fault shows
	}
	if c.Verify {
		config.VerifyEvery = 1
	}
	made, err := wasm.New(ctx, config, wasm.Deps{
		Factory: code, Manifest: loaded.Manifest, Binder: &p.binder, Namespace: func(name string) *state.Namespace { return p.namespaces[name] },
		Clock: &p.clock, Log: slog.New(&listener{Handler: slog.DiscardHandler, plugin: c, profile: p}),
	})
	if err != nil {
		return err
	}
	p.plugins[c.Name] = made
	p.closers = append([]func(context.Context) error{made.Close}, p.closers...)
	return nil
}

// listener passes on what guests log, and notes faults.
type listener struct {
	slog.Handler
	plugin  *conformance.Plugin
	profile *profile
}

func (l *listener) Enabled(context.Context, slog.Level) bool { return true }

func (l *listener) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "plugin fault" {
		r.Attrs(func(a slog.Attr) bool {
			if f, ok := a.Value.Any().(*fault.Fault); ok {
				l.profile.mu.Lock()
				l.profile.fault = f
				l.profile.mu.Unlock()
			}
			return true
		})
		return nil
	}
	if r.Message == "plugin returned no queue keys" {
		l.profile.keyless = true
		return nil
	}
	if l.plugin.Log != nil {
		l.plugin.Log(int(r.Level-slog.LevelDebug)/4, r.Message)
	}
	return nil
}

// profile is plugins and the cluster that they see, which is brought up to date and
// not made anew.
type profile struct {
	plugins  map[string]*wasm.Plugin
	closers  []func(context.Context) error
	cache    *cache.Cache
	snapshot *state.Snapshot
	binder   binder
	clock    wall
	seed     uint64

	nodes      map[string]bool
	pods       map[string]*state.Pod // by UID
	feeds      map[string]state.Feed
	views      []wire.ObjectView
	columns    map[string][]string // reads.objectColumns, by the key of a view
	namespaces map[string]*state.Namespace

	mu    sync.Mutex
	fault *fault.Fault // of the call that runs

	keyless bool // queue_key said Error
	sorts   int  // plugins with queue_key
}

// wall is a clock at the time of a cluster.
type wall struct {
	clock.Real
	now atomic.Int64 // seconds since 1970
}

// Now implements clock.Clock.
func (w *wall) Now() time.Time { return time.Unix(w.now.Load(), 0) }

// binder notes a binding.
type binder struct{ got *objects.Binding }

// Bind implements objects.Binder.
func (b *binder) Bind(_ context.Context, binding objects.Binding) error {
	b.got = &binding
	return nil
}

// Close implements conformance.Profile.
func (p *profile) Close(ctx context.Context) error {
	var errs []error
	for _, closer := range p.closers {
		errs = append(errs, closer(ctx))
	}
	p.closers = nil
	return errors.Join(errs...)
}

// object converts an object by way of JSON.
func object[T any](from any) *T {
	data, err := json.Marshal(from)
	if err != nil {
		panic(err)
	}
	to := new(T)
	if err := json.Unmarshal(data, to); err != nil {
		panic(err)
	}
	return to
}

// Begin implements conformance.Profile.
func (p *profile) Begin(ctx context.Context, c *cluster.Cluster, pod *cluster.Pod) (conformance.Cycle, error) {
	if err := p.update(c); err != nil {
		return nil, err
	}
	p.seed++
	out := &cycle{profile: p, cluster: c, Cycle: plugin.Cycle{
		Context: ctx, Snapshot: p.snapshot, State: &state.CycleState{}, Seed: 1000 + p.seed, Now: c.Now,
	}}
	p.clock.now.Store(c.Now)
	if pod != nil {
		out.Pod = state.NewPod(object[v1.Pod](pod))
	}
	return out, nil
}

// feed makes feeds and objects say what they do in the cluster.
func (p *profile) feed(c *cluster.Cluster) {
	for name, old := range p.feeds {
		for of := range old.Cells {
			old.Cells[of] = state.Cell{}
		}
		p.feeds[name] = old
	}
	set := func(name, of, key string, cell state.Cell) {
		if p.feeds == nil {
			p.feeds = map[string]state.Feed{}
		}
		if p.feeds[name].Cells == nil {
			p.feeds[name] = state.Feed{Name: name, Of: of, Cells: map[string]state.Cell{}}
		}
		p.feeds[name].Cells[key] = cell
	}
	objects := func(join, of, key string, has map[string]cluster.Values) {
		for _, view := range p.views {
			if view.Join != join {
				continue
			}
			set(view.Key(), of, key, state.Cell{State: abi.FeedFresh, Columns: objectview.Columns(&view, func(arg int) ([]int64, []*string) {
				v := has[p.columns[view.Key()][arg]]
				return v.Numbers, v.Texts
			})})
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for name, f := range n.Feeds {
			name, _, _ = strings.Cut(name, ":")
			set(name, state.OfNodes, n.Metadata.Name, state.Cell{Value: f.Value, State: f.State, Since: f.Since})
		}
		objects(wire.JoinNode, state.OfNodes, n.Metadata.Name, n.Objects)
	}
	for i := range c.Namespaces {
		n := &c.Namespaces[i]
		objects(wire.JoinNamespace, state.OfNamespaces, n.Metadata.Name, n.Objects)
	}
	for _, name := range slices.Sorted(maps.Keys(p.feeds)) {
		p.cache.SetFeeds(p.feeds[name])
	}
}

// update makes the cache what the cluster is, change by change.
func (p *profile) update(c *cluster.Cluster) error {
	nodes, pods, namespaces := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range c.Nodes {
		n := state.NewNode(object[v1.Node](&c.Nodes[i]))
		nodes[n.Name] = true
		p.cache.AddNode(n)
	}
	p.feed(c)
	nominated := map[string][]*state.Pod{}
	for i := range c.Pods {
		pod := state.NewPod(object[v1.Pod](&c.Pods[i]))
		if pod.NodeName() == "" {
			nominated[pod.NominatedNode()] = append(nominated[pod.NominatedNode()], pod)
			continue
		}
		uid := string(pod.UID)
		pods[uid] = true
		old := p.pods[uid]
		p.pods[uid] = pod
		var err error
		if old == nil {
			_, err = p.cache.AddPod(pod)
		} else {
			_, err = p.cache.UpdatePod(old, pod)
		}
		if err != nil {
			return err
		}
	}
	for i := range c.Namespaces {
		n := state.NewNamespace(object[v1.Namespace](&c.Namespaces[i]))
		namespaces[n.Name], p.namespaces[n.Name] = true, n
		p.cache.AddNamespace(n)
	}
	for uid, pod := range p.pods {
		if !pods[uid] {
			p.cache.RemovePod(pod.UID)
			delete(p.pods, uid)
		}
	}
	for name := range p.nodes {
		if !nodes[name] {
			p.cache.RemoveNode(name)
		}
	}
	for name := range p.namespaces {
		if !namespaces[name] {
			p.cache.RemoveNamespace(name)
			delete(p.namespaces, name)
		}
	}
	for name := range nodes {
		p.cache.Nominate(name, nominated[name])
	}
	p.nodes = nodes
	p.cache.UpdateSnapshot(p.snapshot)
	return nil
}
