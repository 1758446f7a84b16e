package berth

import (
	"strconv"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// The functions below are the exports of points about pods: those of a list, and the one being
// placed.

// listed returns the pods of the call's list.
func (c *core) listed(n uint32) []podEntry { return view[podEntry](&c.mem, c.call.pods, n) }

// ServePreEnqueue is berth_pre_enqueue.
func ServePreEnqueue(p PreEnqueuer, call, _, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	n := c.call.nRows
	codes, reasons := view[uint8](&c.mem, c.call.codes, n), view[uint16](&c.mem, c.call.reasons, n)
	seen := Status(0)
	for i, e := range c.listed(n) {
		c.pod.parse(&c.mem, e.address, e.size, i)
		if s := p.PreEnqueue(Pod{&c.pod}); s != Success {
			codes[i], reasons[i] = uint8(s), uint16(s.Reason())
			seen |= s
		}
	}
	c.reasons.used = seen.Reason() != 0
	return c.finish(Success)
}

// ServeQueueKey is berth_queue_key.
func ServeQueueKey(p QueueKeyer, call, _, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	n := c.call.nRows
	queued, keys := view[Queued](&c.mem, c.call.queue, n), view[Key](&c.mem, c.call.keys, n)
	for i, e := range c.listed(n) {
		c.pod.parse(&c.mem, e.address, e.size, i)
		p.QueueKey(Pod{&c.pod}, queued[i], &keys[i])
		if size := keys[i].length; size > maxKey {
			clear(keys)
			return c.finish(Error(c.reasons.add([]string{"the queue key has " + strconv.Itoa(int(size)) + " bytes, at most 64 are allowed"})))
		}
	}
	return c.finish(Success)
}

// ServeHint is berth_hint.
func ServeHint(p Hinter, call, _, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	c.event.parse(c, c.call.event)
	n := c.call.nRows
	codes := view[uint8](&c.mem, c.call.codes, n)
	for i, e := range c.listed(n) {
		c.pod.parse(&c.mem, e.address, e.size, i)
		codes[i] = uint8(p.Hint(Event{&c.event}, Pod{&c.pod}))
	}
	return c.finish(Success)
}

// ServeAddPod is berth_add_pod.
func ServeAddPod(p PodAdder, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.AddPod(c.beginWith(call), Pod{&c.added}, Node{&c.columns, lo}))
}

// ServeRemovePod is berth_remove_pod.
func ServeRemovePod(p PodAdder, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.RemovePod(c.beginWith(call), Pod{&c.added}, Node{&c.columns, lo}))
}

// beginWith makes the views of a call about a pod besides the one to be placed, and returns the
// latter. The list has the former.
func (c *core) beginWith(call uint32) Pod {
	c.begin(call)
	c.pod.index = -1
	e := c.listed(1)[0]
	c.added.parse(&c.mem, e.address, e.size, 0)
	return Pod{&c.pod}
}

// ServePostFilter is berth_post_filter.
func ServePostFilter(p PostFilterer, call, lo, _ uint32) int32 {
	c := p.core()
	defer c.explain()
	c.begin(call)
	nodes := c.nodes(lo)
	return c.finish(p.PostFilter(Pod{&c.pod}, Judged{nodes, view[uint8](&c.mem, c.call.codes, nodes.n)}))
}

// chosen makes the views of a call about a pod and the chosen node, which is row 0.
func (c *core) chosen(call uint32) (Pod, Node) {
	c.begin(call)
	return Pod{&c.pod}, Node{&c.columns, 0}
}

// ServeReserve is berth_reserve.
func ServeReserve(p Reserver, call uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.Reserve(c.chosen(call)))
}

// ServeUnreserve is berth_unreserve.
func ServeUnreserve(p Unreserver, call uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.Unreserve(c.chosen(call)))
}

// ServePermit is berth_permit.
func ServePermit(p Permitter, call uint32) int32 {
	c := p.core()
	defer c.explain()
	wait, status := p.Permit(c.chosen(call))
	if status.Code() == Wait.Code() {
		c.record().wait = milliseconds(wait)
	}
	return c.finish(status)
}

// milliseconds rounds a time up; a negative one is 0.
func milliseconds(d time.Duration) uint64 {
	ms := uint64(max(d, 0) / time.Millisecond)
	if d > 0 && d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// RetryAfter asks for another attempt for the pod after a time (rounded up to milliseconds, at least a second and at most an hour), if this
// one fails and no event has it tried before: at PreEnqueue for a pod that it holds back, at PreFilter, Reserve and Permit whatever they
// answer. The last call counts. The manifest must have ABI 1.1 or later.
func (b Base) RetryAfter(d time.Duration) {
	c := b.c
	if abi.Point(c.call.point) == abi.PreEnqueue {
		view[int64](&c.mem, c.call.scores, c.call.nRows)[c.pod.index] = int64(milliseconds(d))
		return
	}
	c.record().retryAfter = milliseconds(d)
}

// ServePreBind is berth_pre_bind.
func ServePreBind(p PreBinder, call uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.PreBind(c.chosen(call)))
}

// ServeBind is berth_bind.
func ServeBind(p Binder, call uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.Bind(c.chosen(call)))
}

// ServePostBind is berth_post_bind.
func ServePostBind(p PostBinder, call uint32) int32 {
	c := p.core()
	defer c.explain()
	return c.finish(p.PostBind(c.chosen(call)))
}
