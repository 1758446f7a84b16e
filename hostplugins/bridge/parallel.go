package bridge

import (
	"context"
	"math"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// parallelizer implements framework.Parallelizer; its value is the number of goroutines.
type parallelizer int

var _ framework.Parallelizer = parallelizer(0)

// Until implements framework.Parallelizer. Pieces are handed out in chunks of about the square
// root of their number, as in kube-scheduler.
func (p parallelizer) Until(ctx context.Context, pieces int, work workqueue.DoWorkPieceFunc, _ string) {
	chunk := max(1, min(int(math.Sqrt(float64(pieces))), pieces/int(p)+1))
	workqueue.ParallelizeUntil(ctx, int(p), pieces, work, workqueue.WithChunkSize(chunk))
}

// fewRows is the number of nodes below which goroutines do not pay off.
const fewRows = 64

// until calls a plugin for each of n nodes. Unlike the framework's, it does not stop when the
// context ends; the plugin handles that.
func (b *Bridge) until(ctx context.Context, n int, call func(i int)) {
	if n < fewRows {
		for i := range n {
			call(i)
		}
		return
	}
	parallelizer(b.config.Parallelism).Until(context.WithoutCancel(ctx), n, call, "")
}

// nodes returns the NodeInfos of rows.
func (b *Bridge) nodes(rows []uint32) []framework.NodeInfo {
	out := make([]framework.NodeInfo, len(rows))
	for i, row := range rows {
		out[i] = b.cluster.at(row)
	}
	return out
}

// tell informs the plugin of a pod added to or removed from a hypothetical node.
func (p *Plugin) tell(c *plugin.Cycle, overlay uint32, pod *state.Pod, call preFilterExtension) *plugin.Status {
	if p.preFilter == nil || p.preFilter.PreFilterExtensions() == nil {
		return nil
	}
	ctx, cs := p.begin(c)
	return statusOf(call(p.preFilter.PreFilterExtensions(), ctx, cs, c.Pod.Object, newPodInfo(pod), p.bridge.cluster.at(overlay)))
}

func protocolName(p wire.Protocol) string {
	switch p {
	case wire.UDP:
		return "UDP"
	case wire.SCTP:
		return "SCTP"
	}
	return "TCP"
}
