package pipeline

import (
	"math"
	"slices"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// points has the plugins of each point, in order.
type points struct {
	preFilter  []stage[plugin.PreFilter]
	extensions []stage[plugin.PreFilterExtensions]
	filter     []stage[plugin.Filter]
	postFilter []stage[plugin.PostFilter]
	preScore   []stage[plugin.PreScore]
	score      []stage[plugin.Score]
	reserve    []stage[plugin.Reserve]
	permit     []stage[plugin.Permit]
	preBind    []stage[plugin.PreBind]
	bind       []stage[plugin.Bind]
	postBind   []stage[plugin.PostBind]
}

// view is the plugins that may act on the pods of a namespace and of some shares, or on those of them that wait for a resize.
// Work for a pod costs what these cost, however many plugins other namespaces have.
type view struct {
	points
	number   uint64
	plugins  []int // indexes, ascending
	breakers []plugin.Breaker
	own      []string // the namespaces that all attached plugins are attached to; nil if there is none
	modules  bool     // one of the plugins is a module for all namespaces
	// maxPriority is the least of those of the attached plugins.
	maxPriority int32
}

// viewKey says which pods have a view in common.
type viewKey struct {
	namespace string // empty for all that no plugin names
	shares    uint64 // a bit for each element of Pipeline.shared that the pods are in
	resize    bool   // they wait for a resize in place
}

// viewOf returns the view of a pod. It may be called from any goroutine.
func (p *Pipeline) viewOf(pod *state.Pod) *view {
	key := viewKey{resize: p.Resizes(pod)}
	if _, named := slices.BinarySearch(p.named, pod.Namespace); named {
		key.namespace = pod.Namespace
	}
	for i := range p.shared {
		if x := &p.shared[i]; p.infos[x.index].MayActOn(pod.Namespace) && x.share.Has(pod) {
			key.shares |= 1 << i
		}
	}
	if key == (viewKey{}) {
		return p.common
	}
	if v, ok := p.views.Load(key); ok {
		return v.(*view)
	}
	v, _ := p.views.LoadOrStore(key, p.newView(key))
	return v.(*view)
}

func (p *Pipeline) newView(key viewKey) *view {
	all, in := &p.points, make([]bool, len(p.infos))
	v := &view{number: p.numbered.Add(1), maxPriority: math.MaxInt32}
	for i, info := range p.infos {
		in[i] = info.MayActOn(key.namespace)
	}
	for i := range p.shared {
		in[p.shared[i].index] = key.shares&(1<<i) != 0
	}
	for i, info := range p.infos {
		in[i] = in[i] && (info.Resizes || !key.resize)
	}
	for i := range in {
		if in[i] {
			v.plugins = append(v.plugins, i)
			names := p.infos[i].Namespaces
			v.modules = v.modules || names == nil && p.infos[i].Digest != ""
			if most := p.infos[i].MaxPriority; names != nil && most != nil {
				v.maxPriority = min(v.maxPriority, *most)
			}
			if v.own == nil {
				v.own = names
			} else if names != nil {
				v.own = slices.DeleteFunc(slices.Clone(v.own), func(name string) bool { return !slices.Contains(names, name) })
			}
		}
	}
	for _, b := range p.breakers {
		if in[p.index[b.Info().Name]] {
			v.breakers = append(v.breakers, b)
		}
	}
	v.points = points{
		preFilter: own(all.preFilter, in), extensions: own(all.extensions, in), filter: own(all.filter, in),
		postFilter: own(all.postFilter, in), preScore: own(all.preScore, in), score: own(all.score, in),
		reserve: own(all.reserve, in), permit: own(all.permit, in), preBind: own(all.preBind, in),
		bind: own(all.bind, in), postBind: own(all.postBind, in),
	}
	return v
}

// AnyAttached reports whether a plugin is attached to namespaces, or should be but does not run.
func (p *Pipeline) AnyAttached() bool {
	return len(p.named) > 0 || slices.ContainsFunc(p.infos, func(info *plugin.Info) bool { return info.Holds })
}

// Held reports whether a pod is kept back because a plugin does not run.
func (p *Pipeline) Held(pod *state.Pod) bool {
	for _, s := range p.preEnqueue {
		if !s.info.Holds {
			continue
		}
		var answer [1]*plugin.Status
		if p.preEnqueueBatch(s, []*state.Pod{pod}, answer[:]); !answer[0].Success() {
			return true
		}
	}
	return false
}

// bindsAs reports whether both views have the same plugins at the points of a binding.
func (v *view) bindsAs(o *view) bool {
	return same(v.reserve, o.reserve) && same(v.permit, o.permit) && same(v.preBind, o.preBind) && same(v.bind, o.bind) && same(v.postBind, o.postBind)
}

func same[T plugin.Plugin](a, b []stage[T]) bool {
	return slices.EqualFunc(a, b, func(x, y stage[T]) bool { return x.info == y.info })
}

// Guests returns the namespaces that all attached plugins that act on a pod are attached to, sorted; nil if there is none.
// modules tells that a module for all namespaces acts on the pod. It may be called from any goroutine.
func (p *Pipeline) Guests(pod *state.Pod) (own []string, modules bool) {
	v := p.viewOf(pod)
	return v.own, v.modules
}

// Lane tells whether attached plugins act on a pod, and the priority with which it competes at most with pods of other namespaces.
func (p *Pipeline) Lane(pod *state.Pod) (own bool, maxPriority int32) {
	v := p.viewOf(pod)
	return v.own != nil, v.maxPriority
}

// FuelOfGuests returns the fuel that the attached plugins which act on a pod have used so far.
func (p *Pipeline) FuelOfGuests(pod *state.Pod) (fuel int64) {
	for _, b := range p.viewOf(pod).breakers {
		if b.Info().Namespaces != nil {
			fuel += b.Fuel()
		}
	}
	return fuel
}

// own returns the stages of plugins, by index, that act on a pod.
func own[T plugin.Plugin](all []stage[T], in []bool) (out []stage[T]) {
	for _, s := range all {
		if in[s.index] {
			out = append(out, s)
		}
	}
	return out
}
