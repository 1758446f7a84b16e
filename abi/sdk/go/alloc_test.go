package berth_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestNoAllocation: calls about many pods do not allocate, and neither do calls with
// directives.
func TestNoAllocation(t *testing.T) {
	p := newCalls()
	r := newRegion(t, p, nil)
	r.pod = r.record("web", "")
	r.pods = [][]byte{r.record("a", "go"), r.record("b", "hold"), r.record("c", "pending")}
	r.queue = []wire.QueueEntry{{Time: 1}, {Time: 2}, {Time: 3}}
	r.event = &wire.EventView{Resource: abi.EventNode, NewNode: 1, OldNode: abi.EventNoNode}
	for _, c := range []struct {
		export string
		point  abi.Point
		n      uint32
		serve  func(call uint32) int32
	}{
		{abi.ExportPreEnqueue, abi.PreEnqueue, 3, func(call uint32) int32 { return berth.ServePreEnqueue(p, call, 0, 3) }},
		{abi.ExportQueueKey, abi.QueueSort, 3, func(call uint32) int32 { return berth.ServeQueueKey(brief{p}, call, 0, 3) }},
		{abi.ExportHint, abi.Hint, 3, func(call uint32) int32 { return berth.ServeHint(brief{p}, call, 0, 3) }},
		{abi.ExportPostFilter, abi.PostFilter, 2, func(call uint32) int32 { return berth.ServePostFilter(p, call, 0, 2) }},
		{abi.ExportPreBind, abi.PreBind, 0, func(call uint32) int32 { return berth.ServePreBind(p, call) }},
		{abi.ExportPostBind, abi.PostBind, 0, func(call uint32) int32 { return berth.ServePostBind(p, call) }},
	} {
		copy(r.mem()[r.layout.Codes:], []uint8{uint8(abi.Unschedulable)}) // for post_filter
		r.write(wire.Call{Point: c.point, N: c.n})
		call := r.base + r.layout.Call
		c.serve(call) // makes room for answers
		if n := testing.AllocsPerRun(100, func() { c.serve(call) }); n != 0 {
			t.Errorf("%s allocates %v times", c.export, n)
		}
	}
}

// brief is calls without the texts that other tests need.
type brief struct{ *calls }

func (p brief) QueueKey(pod berth.Pod, queued berth.Queued, key *berth.Key) {
	key.AppendInt64(queued.Time)
	key.AppendText(pod.UID())
}

func (p brief) Hint(event berth.Event, _ berth.Pod) berth.HintResult {
	if node, ok := event.NewNode(); ok && event.Is(abi.EventNode, abi.ActionAdd) && node.Label(p.zone) != berth.Absent {
		return berth.Queue
	}
	return berth.QueueSkip
}

// BenchmarkPods measures a full call about pods natively, including writing it.
func BenchmarkPods(b *testing.B) {
	p := newCalls()
	r := newRegion(b, p, nil)
	for range abi.MaxBatch {
		r.pods, r.queue = append(r.pods, r.record("web", "go")), append(r.queue, wire.QueueEntry{Time: 1})
	}
	r.event = &wire.EventView{Resource: abi.EventNode, Actions: abi.ActionAdd, NewNode: 1, OldNode: abi.EventNoNode}
	for name, serve := range map[string]func(call uint32) int32{
		"pre_enqueue": func(call uint32) int32 { return berth.ServePreEnqueue(p, call, 0, abi.MaxBatch) },
		"queue_key":   func(call uint32) int32 { return berth.ServeQueueKey(brief{p}, call, 0, abi.MaxBatch) },
		"hint":        func(call uint32) int32 { return berth.ServeHint(brief{p}, call, 0, abi.MaxBatch) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				// Keys are appended to, so the host zeroes them before each call.
				r.write(wire.Call{N: abi.MaxBatch})
				if serve(r.base+r.layout.Call) != 0 {
					b.Fatal("it failed")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/abi.MaxBatch, "ns/pod")
		})
	}
}
