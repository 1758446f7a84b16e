// Package pipeline runs the ordered plugins of one profile at each extension
// point, with kube-scheduler's rules for skips, statuses, weights and order, and
// measures each call.
package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Enforcement is the name under which a pod is rejected that asks for something
// no enabled plugin enforces.
const Enforcement = "FeatureEnforcement"

// Debt is the name under which a pod is rejected for which others made room before, and do so no more for now. Only the
// scheduler lifts it, when the debt ends.
const Debt = "PreemptionDebt"

// Budget is the name under which a pod is gated that waits for its turn, because a plugin caused too many attempts. Only the
// scheduler lifts it.
const Budget = "PluginBudget"

// Entry is a plugin at an extension point.
type Entry struct {
	Plugin plugin.Plugin
	// Weight multiplies the plugin's scores; 0 means 1.
	Weight int64
	// Share is the part of the pods that the plugin acts on, the same at all its points. Two
	// versions of a plugin have shares of one key.
	Share state.Share
}

// Config says which plugins a profile runs, point by point, in order. A plugin
// that stands at several points is one value in all of them.
type Config struct {
	// Profile is the scheduler name that pods ask for.
	Profile string
	// Points has a list for abi.PreEnqueue, QueueSort, PreFilter, Filter,
	// PostFilter, PreScore, Score, Reserve, Permit, PreBind, Bind and PostBind.
	Points map[abi.Point][]Entry
	// AllowUnenforced is features that pods may ask for although no plugin
	// enforces them.
	AllowUnenforced state.Feature
	// Percentage is percentageOfNodesToScore of the profile or else of the file;
	// nil means all nodes, 0 kube-scheduler's adaptive formula.
	Percentage *int32
}

// Deps is what a pipeline works with.
type Deps struct {
	// Workers evaluate blocks of rows.
	Workers *Workers
	// Broken (optional) hears of a plugin whose answers are not kept any more. It is called
	// by workers.
	Broken func(Broken)
	// Panicked (optional) is told of the panics of plugins, by any goroutine.
	Panicked func(*plugin.Panic)
}

// Pipeline is the plugins of a profile, ready to run. Its plugins do not change;
// what belongs to one cycle is a Run, and to one pod's binding a Binding.
type Pipeline struct {
	config   Config
	workers  *Workers
	broken   func(Broken)
	tell     func(*plugin.Panic)
	panics   atomic.Uint64
	infos    []*plugin.Info // by plugin index
	enforced state.Feature
	index    map[string]int // plugin name → index
	free     []*Binding
	timings  timings    // of points outside cycles and bindings
	failing  []*failing // by plugin index; nil for plugins that cannot fail so
	breakers []plugin.Breaker
	carriers []plugin.Carrier
	patchers []plugin.Patcher
	// delegators are asked about a placement.
	delegators []plugin.Delegator
	hinters    []plugin.Hinter // by plugin index; nil for a plugin with hints of its events
	// wantsInfo tells that a plugin reads Placement.Info.
	wantsInfo      bool
	feeding        []*plugin.Info // of plugins that read feeds and score
	readsNominated bool           // a plugin reads abi.NodeNominated
	// resizes tells that pods are tried whose resize in place is deferred.
	resizes bool

	preEnqueue []stage[plugin.PreEnqueue]
	queueSort  plugin.QueueSort
	points     points // of all namespaces

	named    []string // namespaces that plugins name, sorted
	shared   []shared // plugins for a part of the pods
	common   *view    // of all other namespaces, for pods that are in no share
	views    sync.Map // *view by viewKey
	numbered atomic.Uint64
}

// stage is a plugin at one point, with its index among the profile's plugins.
type stage[T plugin.Plugin] struct {
	plugin T
	info   *plugin.Info
	index  int
	weight int64
}

// New checks the configuration and returns a pipeline.
func New(config Config, deps Deps) (*Pipeline, error) {
	if deps.Workers == nil {
		return nil, errors.New("pipeline: Deps.Workers is required")
	}
	p := &Pipeline{config: config, workers: deps.Workers, broken: deps.Broken, tell: deps.Panicked, index: make(map[string]int)}
	b := &builder{p: p}
	p.preEnqueue = stages[plugin.PreEnqueue](b, abi.PreEnqueue)
	sorts := stages[plugin.QueueSort](b, abi.QueueSort)
	p.points.preFilter = stages[plugin.PreFilter](b, abi.PreFilter)
	p.points.filter = stages[plugin.Filter](b, abi.Filter)
	p.points.postFilter = stages[plugin.PostFilter](b, abi.PostFilter)
	p.points.preScore = stages[plugin.PreScore](b, abi.PreScore)
	p.points.score = stages[plugin.Score](b, abi.Score)
	p.points.reserve = stages[plugin.Reserve](b, abi.Reserve)
	p.points.permit = stages[plugin.Permit](b, abi.Permit)
	p.points.preBind = stages[plugin.PreBind](b, abi.PreBind)
	p.points.bind = stages[plugin.Bind](b, abi.Bind)
	p.points.postBind = stages[plugin.PostBind](b, abi.PostBind)
	for _, s := range p.points.preFilter {
		if e, ok := s.plugin.(plugin.PreFilterExtensions); ok {
			p.points.extensions = append(p.points.extensions, stage[plugin.PreFilterExtensions]{plugin: e, info: s.info, index: s.index})
		}
	}
	switch {
	case len(sorts) != 1:
		b.fail("needs exactly one QueueSort plugin, has %d", len(sorts))
	case len(p.points.bind) == 0:
		b.fail("needs at least one Bind plugin")
	default:
		p.queueSort = sorts[0].plugin
	}
	if len(p.infos) > maxPlugins {
		b.fail("has %d plugins, the limit is %d", len(p.infos), maxPlugins)
	}
	if len(p.shared) > maxShares {
		b.fail("has %d plugins for a part of the pods, the limit is %d", len(p.shared), maxShares)
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	p.timings = newTimings(len(p.infos))
	for _, info := range p.infos {
		p.named = append(p.named, info.Namespaces...)
	}
	slices.Sort(p.named)
	p.named = slices.Compact(p.named)
	for _, s := range p.points.score {
		if len(s.info.Feeds) > 0 {
			p.feeding = append(p.feeding, s.info)
		}
	}
	p.enforce()
	p.resizes = slices.ContainsFunc(p.points.permit, func(s stage[plugin.Permit]) bool { return s.info.TriesResizes })
	p.common = p.newView(viewKey{})
	return p, nil
}

// maxPlugins is what the plugin index of a verdict can hold.
const maxPlugins = 1 << 8

type builder struct {
	p    *Pipeline
	errs []error
}

func (b *builder) fail(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf("profile %q: %w", b.p.config.Profile, fmt.Errorf(format, args...)))
}

// add registers a plugin once, however many points it stands at.
func (b *builder) add(entry Entry) int {
	p := entry.Plugin
	info := p.Info()
	i, ok := b.p.index[info.Name]
	if !ok {
		i = len(b.p.infos)
		b.p.index[info.Name] = i
		var already *failing
		if f, ok := p.(faulter); ok {
			already = &failing{plugin: f}
			for point := range abi.NumPoints {
				already.counted[point] = f.FaultsAt(point)
			}
		}
		b.p.failing = append(b.p.failing, already)
		if breaker, ok := p.(plugin.Breaker); ok {
			b.p.breakers = append(b.p.breakers, breaker)
		}
		if carrier, ok := p.(plugin.Carrier); ok {
			b.p.carriers = append(b.p.carriers, carrier)
		}
		if patcher, ok := p.(plugin.Patcher); ok {
			b.p.patchers = append(b.p.patchers, patcher)
		}
		if delegator, ok := p.(plugin.Delegator); ok {
			b.p.delegators = append(b.p.delegators, delegator)
		}
		hinter, _ := p.(plugin.Hinter)
		b.p.hinters = append(b.p.hinters, hinter)
		if reader, ok := p.(plugin.NodeReader); ok && reader.ReadsNodeInfo() {
			b.p.wantsInfo = true
		}
		reads := func(r plugin.Read) bool { return r.Column == abi.NodeNominated }
		b.p.readsNominated = b.p.readsNominated || slices.ContainsFunc(info.Reads, reads)
		b.p.infos = append(b.p.infos, info)
		if !entry.Share.All() {
			b.p.shared = append(b.p.shared, shared{index: i, share: entry.Share})
		}
	} else if b.p.infos[i] != info {
		b.fail("two plugins are named %q", info.Name)
	}
	return i
}

func stages[T plugin.Plugin](b *builder, point abi.Point) []stage[T] {
	var out []stage[T]
	seen := make(map[string]bool)
	for _, entry := range b.p.config.Points[point] {
		info := entry.Plugin.Info()
		typed, ok := entry.Plugin.(T)
		switch {
		case !ok || !slices.Contains(plugin.Points(entry.Plugin), point):
			b.fail("plugin %q does not implement %s", info.Name, point)
			continue
		case seen[info.Name]:
			b.fail("plugin %q stands twice at %s", info.Name, point)
			continue
		}
		seen[info.Name] = true
		out = append(out, stage[T]{plugin: typed, info: info, index: b.add(entry), weight: max(1, entry.Weight)})
	}
	return out
}

// Profile returns the scheduler name that pods ask for.
func (p *Pipeline) Profile() string { return p.config.Profile }

// Plugins returns the plugins of the profile in the order of their first point.
func (p *Pipeline) Plugins() []*plugin.Info { return p.infos }

// Feeding returns the plugins that score and read feeds.
func (p *Pipeline) Feeding() []*plugin.Info { return p.feeding }

// Percentage returns percentageOfNodesToScore; nil for all nodes.
func (p *Pipeline) Percentage() *int32 { return p.config.Percentage }

// HasScore reports whether any plugin scores.
func (p *Pipeline) HasScore() bool { return len(p.points.score) > 0 }

// HasPostFilter reports whether any plugin runs when no node fits.
func (p *Pipeline) HasPostFilter() bool { return len(p.points.postFilter) > 0 }

// Wants reports whether any plugin registered an event.
func (p *Pipeline) Wants(event state.ClusterEvent) bool {
	for _, info := range p.infos {
		for i := range info.Events {
			if info.Events[i].Matches(event) {
				return true
			}
		}
	}
	return event.Resource == state.TargetPodResource
}

// Less orders the queue.
// If its plugin panics, the two pods are in the order of their UIDs.
func (p *Pipeline) Less(a, b *state.QueuedPod) (less bool) {
	defer func() {
		if r := recover(); r != nil {
			_ = p.stopped(p.queueSort.Info(), abi.QueueSort, r) // which told of it
			less = a.Pod.UID < b.Pod.UID
		}
	}()
	return p.queueSort.Less(a, b)
}

// QueueSort returns the plugin that orders the queue.
func (p *Pipeline) QueueSort() plugin.QueueSort { return p.queueSort }

// Keys computes the keys of pods, of whatever profile.
func (p *Pipeline) Keys(pods []*state.QueuedPod) {
	keyer, ok := p.queueSort.(plugin.QueueKeyer)
	if !ok {
		return
	}
	watch := clock.Start()
	p.told(keyer.Info(), abi.QueueSort, func() { keyer.Keys(pods) })
	p.timings.add(p.index[keyer.Info().Name], abi.QueueSort, 0, abi.Success, watch.Elapsed())
}

// Settle ends a scheduling cycle of a pod.
func (p *Pipeline) Settle(pod *state.Pod) {
	for _, b := range p.viewOf(pod).breakers {
		p.told(b.Info(), abi.Filter, func() { b.Settle(pod.Namespace) })
	}
}

// Breakers returns the plugins that can be left alone.
func (p *Pipeline) Breakers() []plugin.Breaker { return p.breakers }

// WantsNodeInfo reports whether a plugin reads Placement.Info.
func (p *Pipeline) WantsNodeInfo() bool { return p.wantsInfo }

// ReadsNominated reports whether a plugin reads which pods are nominated to nodes.
func (p *Pipeline) ReadsNominated() bool { return p.readsNominated }

// Plugin returns what is known of a plugin of the profile; nil if there is none
// of that name.
func (p *Pipeline) Plugin(name string) *plugin.Info {
	if i, ok := p.index[name]; ok {
		return p.infos[i]
	}
	return nil
}

// Unenforced returns what a pod asks for that no plugin of the profile enforces
// and that was not explicitly allowed. Of a pod that waits for a resize in place, only the requests count.
func (p *Pipeline) Unenforced(pod *state.Pod) state.Feature {
	asked := pod.Features
	if p.Resizes(pod) {
		asked &= state.FeatureRequests
	}
	return asked &^ p.enforced &^ p.config.AllowUnenforced
}

// Resizes reports whether the pod is one whose resize in place is deferred, and such pods are tried.
func (p *Pipeline) Resizes(pod *state.Pod) bool { return p.resizes && pod.ResizeDeferred() }

// leftToOthers returns what the pod asks for on its node that no plugin of the profile enforces,
// and that was explicitly allowed.
func (p *Pipeline) leftToOthers(placement *plugin.Placement) state.Feature {
	allowed := p.config.AllowUnenforced &^ p.enforced
	if allowed == 0 {
		return 0
	}
	needs := placement.Pod.Features
	for _, d := range p.delegators {
		p.told(d.Info(), abi.Bind, func() { needs |= d.Delegates(placement) })
	}
	return needs & allowed
}
