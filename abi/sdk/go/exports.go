package berth

import "github.com/berth-scheduler/berth/abi"

// Implements returns the names of the exports that a plugin has methods for, in the order of a
// pod's path.
func Implements(p Plugin) []string {
	names := []string{abi.ExportABI, abi.ExportAlloc}
	add := func(ok bool, more ...string) {
		if ok {
			names = append(names, more...)
		}
	}
	add(is[Configurer](p), abi.ExportConfigure)
	add(is[PreEnqueuer](p), abi.ExportPreEnqueue)
	add(is[QueueKeyer](p), abi.ExportQueueKey)
	add(is[Hinter](p), abi.ExportHint)
	add(is[PreFilterer](p), abi.ExportPreFilter)
	add(is[PodAdder](p), abi.ExportAddPod, abi.ExportRemovePod)
	add(is[Filterer](p), abi.ExportFilter)
	add(is[PostFilterer](p), abi.ExportPostFilter)
	add(is[PreScorer](p), abi.ExportPreScore)
	add(is[Scorer](p), abi.ExportScore)
	add(is[Normalizer](p), abi.ExportNormalize)
	add(is[Reserver](p), abi.ExportReserve)
	add(is[Unreserver](p), abi.ExportUnreserve)
	add(is[Permitter](p), abi.ExportPermit)
	add(is[PreBinder](p), abi.ExportPreBind)
	add(is[Binder](p), abi.ExportBind)
	add(is[PostBinder](p), abi.ExportPostBind)
	return names
}

func is[T any](p Plugin) bool {
	_, ok := p.(T)
	return ok
}

// Exports returns the names of the functions that a module of this plugin exports.
func (n *Native) Exports() []string { return Implements(n.plugin) }

// Call calls a point by the name of its export; points about one pod ignore lo and hi. It
// panics if the plugin does not have the point; a host checks Exports first.
func (n *Native) Call(export string, call, lo, hi uint32) int32 {
	p := n.plugin
	switch export {
	case abi.ExportPreEnqueue:
		return ServePreEnqueue(p.(PreEnqueuer), call, lo, hi)
	case abi.ExportQueueKey:
		return ServeQueueKey(p.(QueueKeyer), call, lo, hi)
	case abi.ExportHint:
		return ServeHint(p.(Hinter), call, lo, hi)
	case abi.ExportPreFilter:
		return ServePreFilter(p.(PreFilterer), call)
	case abi.ExportAddPod:
		return ServeAddPod(p.(PodAdder), call, lo, hi)
	case abi.ExportRemovePod:
		return ServeRemovePod(p.(PodAdder), call, lo, hi)
	case abi.ExportFilter:
		return ServeFilter(p.(Filterer), call, lo, hi)
	case abi.ExportPostFilter:
		return ServePostFilter(p.(PostFilterer), call, lo, hi)
	case abi.ExportPreScore:
		return ServePreScore(p.(PreScorer), call, lo, hi)
	case abi.ExportScore:
		return ServeScore(p.(Scorer), call, lo, hi)
	case abi.ExportNormalize:
		return ServeNormalize(p.(Normalizer), call, lo, hi)
	case abi.ExportReserve:
		return ServeReserve(p.(Reserver), call)
	case abi.ExportUnreserve:
		return ServeUnreserve(p.(Unreserver), call)
	case abi.ExportPermit:
		return ServePermit(p.(Permitter), call)
	case abi.ExportPreBind:
		return ServePreBind(p.(PreBinder), call)
	case abi.ExportBind:
		return ServeBind(p.(Binder), call)
	case abi.ExportPostBind:
		return ServePostBind(p.(PostBinder), call)
	}
	panic("berth: no function " + export)
}
