package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/plugin"
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

// view is the plugins that may act on the pods of a namespace. Work for a pod costs what these
// cost, however many plugins other namespaces have.
type view struct {
	points
	number   uint64
	plugins  []int // indexes, ascending
	breakers []plugin.Breaker
}

// viewOf returns the view of a namespace. All namespaces that no plugin names have one in common.
// It may be called from any goroutine.
func (p *Pipeline) viewOf(namespace string) *view {
	if _, named := slices.BinarySearch(p.named, namespace); !named {
		return p.common
	}
	if v, ok := p.views.Load(namespace); ok {
		return v.(*view)
	}
	v, _ := p.views.LoadOrStore(namespace, p.newView(namespace))
	return v.(*view)
}

func (p *Pipeline) newView(namespace string) *view {
	all := &p.points
	v := &view{number: p.numbered.Add(1), points: points{
		preFilter: own(all.preFilter, namespace), extensions: own(all.extensions, namespace), filter: own(all.filter, namespace),
		postFilter: own(all.postFilter, namespace), preScore: own(all.preScore, namespace), score: own(all.score, namespace),
		reserve: own(all.reserve, namespace), permit: own(all.permit, namespace), preBind: own(all.preBind, namespace),
		bind: own(all.bind, namespace), postBind: own(all.postBind, namespace),
	}}
	for i, info := range p.infos {
		if info.MayActOn(namespace) {
			v.plugins = append(v.plugins, i)
		}
	}
	for _, b := range p.breakers {
		if b.Info().MayActOn(namespace) {
			v.breakers = append(v.breakers, b)
		}
	}
	return v
}

// bindsAs reports whether both views have the same plugins at the points of a binding.
func (v *view) bindsAs(o *view) bool {
	return same(v.reserve, o.reserve) && same(v.permit, o.permit) && same(v.preBind, o.preBind) && same(v.bind, o.bind) && same(v.postBind, o.postBind)
}

func same[T plugin.Plugin](a, b []stage[T]) bool {
	return slices.EqualFunc(a, b, func(x, y stage[T]) bool { return x.info == y.info })
}

func own[T plugin.Plugin](all []stage[T], namespace string) (out []stage[T]) {
	for _, s := range all {
		if s.info.MayActOn(namespace) {
			out = append(out, s)
		}
	}
	return out
}
