package pipeline

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// MaxPermitWait is the longest that a pod may wait at Permit.
const MaxPermitWait = 15 * time.Minute

// Wait is a plugin that makes a pod wait at Permit, and the longest time to wait.
type Wait struct {
	Plugin  string
	Timeout time.Duration
}

// Binding is one pod's way from Reserve to PostBind. It belongs to one goroutine
// at a time: the loop's up to Permit, then the binding cycle's, then the loop's.
type Binding struct {
	Placement plugin.Placement
	// Try is the try that chose the node.
	Try Try
	// LeftToOthers is what the pod asks for on the node that no plugin of the profile enforces, and that
	// the profile leaves to others.
	LeftToOthers state.Feature
	// Wait is how the pod waited at Permit; nil if it did not.
	Wait *report.PermitWait

	p            *Pipeline
	own          *view // of the pod
	left         bool  // a plugin that keeps something for the pod is not in p any more
	timings      fewTimings
	interruption *Interruption // nil without PreBind plugins
}

// Try says which try to place a pod a binding belongs to.
type Try struct {
	// Pod is the pod before it was assumed.
	Pod *state.Pod
	// Sequence is the number of the attempt, Number that of the pod's tries so far.
	Sequence uint64
	Number   int
	// First is when the pod was first ready to be tried; Watch runs since it was popped.
	First time.Time
	Watch clock.Stopwatch
	// Flushed tells that the pod was tried again because of a timeout and not of an event.
	Flushed bool
}

// NewBinding returns a binding for the placement that a try decided on. It and Release are
// for the loop's goroutine only.
func (p *Pipeline) NewBinding(placement plugin.Placement, try Try) *Binding {
	var b *Binding
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	} else {
		b = &Binding{p: p}
	}
	b.Placement, b.Try, b.own = placement, try, p.viewOf(placement.Pod)
	b.LeftToOthers = p.leftToOthers(&b.Placement)
	if len(b.own.preBind) > 0 {
		b.interruption = &Interruption{}
	}
	return b
}

// Release returns a binding that has ended to the pipeline for reuse, and appends what was
// measured.
func (b *Binding) Release(timings []report.Timing, points []report.PointTiming) ([]report.Timing, []report.PointTiming) {
	timings, points = b.timings.take(b.p, timings), append(points, b.timings.points...)
	b.timings.points = b.timings.points[:0]
	b.Placement.State.Drop()
	b.Placement, b.Try, b.interruption, b.Wait = plugin.Placement{}, Try{}, nil, nil
	b.left = false
	b.p.free = append(b.p.free, b)
	return timings, points
}

// Pipeline returns the profile's pipeline.
func (b *Binding) Pipeline() *Pipeline { return b.p }

// Move gives the binding of a pod that waits to another pipeline of the profile, if the plugins that
// are called for it from Permit on are the same there. It reports whether they are.
func (b *Binding) Move(to *Pipeline) bool {
	own := to.viewOf(b.Placement.Pod)
	if !b.own.bindsAs(own) {
		return false
	}
	b.timings.renumber(b.p, to)
	b.left = b.left || b.leaves(to)
	b.p, b.own = to, own
	return true
}

// Interruption returns what can end the binding cycle during PreBind; nil if that
// has no plugins.
func (b *Binding) Interruption() *Interruption { return b.interruption }

// called counts a call, and the fault that it may have ended with.
func (b *Binding) called(plugin int, point abi.Point, code abi.Code, watch clock.Stopwatch) {
	b.timings.add(plugin, point, code, b.Placement.Faults, watch.Elapsed())
	b.Placement.Faults = 0
}

// Reserve runs the Reserve plugins in order. carryOut is called after each with
// its directives, so that its patch is visible to the next one. After a
// failure the caller runs Unreserve.
func (b *Binding) Reserve(carryOut func(plugin.Directives) error) *plugin.Status {
	watch := clock.Start()
	status := b.reserve(carryOut)
	b.timings.ran(abi.Reserve, status.CodeOf(), watch)
	return status
}

func (b *Binding) reserve(carryOut func(plugin.Directives) error) *plugin.Status {
	for _, s := range b.own.reserve {
		watch := clock.Start()
		var d plugin.Directives
		answer := b.p.ask(s.info, abi.Reserve, func() (answer *plugin.Status) {
			d, answer = s.plugin.Reserve(&b.Placement)
			return answer
		})
		b.called(s.index, abi.Reserve, answer.CodeOf(), watch)
		if answer.Rejected() {
			return answer.By(s.info.Name)
		}
		if !answer.Success() {
			return failed("Reserve", s.info.Name, answer)
		}
		if err := carryOut(d.By(s.info.Name)); err != nil {
			return failed("Reserve", s.info.Name, plugin.Fail(err))
		}
	}
	return nil
}

// Unreserve runs Unreserve of all Reserve plugins in reverse order.
func (b *Binding) Unreserve() []plugin.Directives {
	var out []plugin.Directives
	whole := clock.Start()
	for i := len(b.own.reserve) - 1; i >= 0; i-- {
		s := b.own.reserve[i]
		watch := clock.Start()
		var d plugin.Directives
		b.p.told(s.info, abi.Unreserve, func() { d = s.plugin.Unreserve(&b.Placement) })
		b.called(s.index, abi.Unreserve, abi.Success, watch)
		out = append(out, d.By(s.info.Name))
	}
	b.timings.ran(abi.Unreserve, abi.Success, whole)
	return out
}

// Unassumed tells the plugins that a pod was confirmed or given up.
func (p *Pipeline) Unassumed(pod types.UID) {
	for _, patcher := range p.patchers {
		patcher.Unassumed(pod)
	}
}

// Permit runs the Permit plugins. Several may ask to wait at once; any rejection
// ends the point. So does a plugin that keeps too much for such pods.
func (b *Binding) Permit() (waits []Wait, directives []plugin.Directives, status *plugin.Status) {
	watch := clock.Start()
	waits, directives, status = b.permit()
	code := status.CodeOf()
	if len(waits) > 0 {
		code = abi.Wait
	}
	b.timings.ran(abi.Permit, code, watch)
	return waits, directives, status
}

func (b *Binding) permit() (waits []Wait, directives []plugin.Directives, status *plugin.Status) {
	for _, s := range b.own.permit {
		watch := clock.Start()
		var timeout time.Duration
		var d plugin.Directives
		answer := b.p.ask(s.info, abi.Permit, func() (answer *plugin.Status) {
			timeout, d, answer = s.plugin.Permit(&b.Placement)
			return answer
		})
		b.called(s.index, abi.Permit, answer.CodeOf(), watch)
		switch {
		case answer.Rejected():
			return nil, directives, answer.By(s.info.Name)
		case answer.Is(abi.Wait):
			waits = append(waits, Wait{Plugin: s.info.Name, Timeout: min(timeout, MaxPermitWait)})
		case !answer.Success():
			return nil, directives, failed("Permit", s.info.Name, answer)
		}
		directives = append(directives, d.By(s.info.Name))
	}
	if err := b.Placement.State.Keep(); err != nil {
		return nil, directives, plugin.Fail(err)
	}
	return waits, directives, nil
}

// Bind runs PreBindPreFlight, PreBind, Bind and PostBind. It may run beside the
// loop and touches nothing but the placement.
func (b *Binding) Bind() (directives []plugin.Directives, status *plugin.Status) {
	directives, status = b.preBind()
	if !status.Success() {
		return directives, status
	}
	watch := clock.Start()
	bound, status := b.bind()
	b.timings.ran(abi.Bind, status.CodeOf(), watch)
	directives = append(directives, bound...)
	if !status.Success() {
		return directives, status
	}
	watch = clock.Start()
	for _, s := range b.own.postBind {
		watch := clock.Start()
		var d plugin.Directives
		b.p.told(s.info, abi.PostBind, func() { d = s.plugin.PostBind(&b.Placement) }) // the pod is bound all the same
		b.called(s.index, abi.PostBind, abi.Success, watch)
		directives = append(directives, d.By(s.info.Name))
	}
	b.timings.ran(abi.PostBind, abi.Success, watch)
	return directives, nil
}

// preBind runs PreBindPreFlight and PreBind. From the first plugin that has
// something to do to the end of the last one the pod can be interrupted.
func (b *Binding) preBind() (directives []plugin.Directives, status *plugin.Status) {
	watch := clock.Start()
	skip, status := b.preFlight()
	code, none := status.CodeOf(), status.Success() && !slices.Contains(skip, false)
	if none {
		code = abi.Skip
	}
	b.timings.ran(abi.PreBindPreFlight, code, watch)
	if none { // kube-scheduler runs the point all the same
		b.timings.ran(abi.PreBind, abi.Success, clock.Start())
	}
	if none || !status.Success() {
		return nil, status
	}
	ctx := b.Placement.Context
	b.Placement.Context = b.interruption.begin(ctx)
	b.waits(false) // PreBind may take minutes
	watch = clock.Start()
	directives, status = b.runPreBind(skip)
	b.timings.ran(abi.PreBind, status.CodeOf(), watch)
	b.Placement.Context = ctx
	b.waits(true)
	if cause := b.interruption.end(); cause != nil {
		return directives, plugin.Fail(cause)
	}
	return directives, status
}

func (b *Binding) waits(waits bool) {
	if b.Placement.Waits != nil {
		b.Placement.Waits(waits)
	}
}

func (b *Binding) runPreBind(skip []bool) (directives []plugin.Directives, status *plugin.Status) {
	for i, s := range b.own.preBind {
		if skip[i] {
			continue
		}
		watch := clock.Start()
		var d plugin.Directives
		answer := b.p.ask(s.info, abi.PreBind, func() (answer *plugin.Status) {
			d, answer = s.plugin.PreBind(&b.Placement)
			return answer
		})
		b.called(s.index, abi.PreBind, answer.CodeOf(), watch)
		if answer.Rejected() {
			return directives, answer.By(s.info.Name)
		}
		if !answer.Success() {
			return directives, failed("PreBind", s.info.Name, answer)
		}
		b.patched(d.Patch)
		directives = append(directives, d.By(s.info.Name))
	}
	return directives, nil
}

// patched shows the points that follow the pod as a patch makes it.
func (b *Binding) patched(p state.Patch) {
	if p.Empty() {
		return
	}
	b.Placement.Patch = b.Placement.Patch.Merge(p)
	b.Placement.Pod = b.Placement.Pod.On(b.Placement.Node.Name, p)
}

// preFlight asks the PreBind plugins which of them have something to do.
func (b *Binding) preFlight() (skip []bool, status *plugin.Status) {
	skip = make([]bool, len(b.own.preBind))
	for i, s := range b.own.preBind {
		watch := clock.Start()
		answer := b.p.ask(s.info, abi.PreBindPreFlight, func() *plugin.Status { return s.plugin.PreBindPreFlight(&b.Placement) })
		b.called(s.index, abi.PreBindPreFlight, answer.CodeOf(), watch)
		switch answer.CodeOf() {
		case abi.Success:
		case abi.Skip:
			skip[i] = true
		default:
			if answer.Rejected() {
				answer = plugin.Fail(fmt.Errorf("%s is not an answer of this point; it is Success, Skip or Error", answer.Code))
			}
			return nil, failed("PreBindPreFlight", s.info.Name, answer)
		}
	}
	return skip, nil
}

// bind asks the Bind plugins in order until one does not skip.
func (b *Binding) bind() ([]plugin.Directives, *plugin.Status) {
	for _, s := range b.own.bind {
		watch := clock.Start()
		var d plugin.Directives
		answer := b.p.ask(s.info, abi.Bind, func() (answer *plugin.Status) {
			d, answer = s.plugin.Bind(&b.Placement)
			return answer
		})
		b.called(s.index, abi.Bind, answer.CodeOf(), watch)
		switch {
		case answer.Is(abi.Skip):
			continue
		case answer.Success():
			b.patched(d.Patch)
			return []plugin.Directives{d.By(s.info.Name)}, nil
		case answer.Rejected():
			return nil, answer.By(s.info.Name)
		}
		return nil, failed("Bind", s.info.Name, answer)
	}
	return nil, plugin.Fail(fmt.Errorf("every Bind plugin of profile %q skipped the pod", b.p.config.Profile))
}
