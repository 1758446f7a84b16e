package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/objectview"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// hosted is a plugin in the host, with a cluster and pods to place.
type hosted struct {
	plugin   *wasm.Plugin
	has      func(abi.Point) bool
	tallies  map[abi.Point]*tally // by point; nil while nothing is counted
	cache    *cache.Cache
	snapshot *state.Snapshot
	pods     []*state.Pod
	rows     []uint32

	cycle    plugin.Cycle
	state    state.CycleState
	verdicts plugin.Verdicts
	fit      []uint32
	sums     []int64
	turns    uint64
}

func newHosted(
	ctx context.Context, m *opened, nodes []berthtest.Node, pods []berthtest.Pod, namespaces []berthtest.Namespace,
) (*hosted, error) {
	c := cache.New(cache.Config{})
	show := func(join, of, name string, has map[string]berthtest.Values) {
		for _, view := range m.Manifest.ObjectViews() {
			if view.Join != join {
				continue
			}
			cell := state.Cell{State: abi.FeedFresh, Columns: objectview.Columns(&view, func(arg int) ([]int64, []*string) {
				v := has[m.Manifest.Reads.ObjectColumns[arg]]
				return v.Numbers, v.Texts
			})}
			c.SetFeeds(state.Feed{Name: view.Key(), Of: of, Cells: map[string]state.Cell{name: cell}})
		}
	}
	for i := range namespaces {
		n := &namespaces[i]
		c.AddNamespace(state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}))
		show(wire.JoinNamespace, state.OfNamespaces, n.Name, n.Objects)
	}
	var declared [abi.NumPoints]bool
	for p := range declared {
		declared[p] = m.Manifest.Points.Get(abi.Point(p)) != nil
	}
	h := &hosted{snapshot: state.NewSnapshot(), cache: c, has: func(p abi.Point) bool { return declared[p] }}
	for i := range nodes {
		n := &nodes[i]
		c.AddNode(state.NewNode(apiNode(n)))
		for k := range n.Pods {
			placed := apiPod(&n.Pods[k])
			placed.Spec.NodeName = n.Name
			if _, err := c.AddPod(state.NewPod(placed)); err != nil {
				return nil, err
			}
		}
		for name, value := range n.Feeds {
			cell := state.Cell{Value: value, State: abi.FeedFresh}
			if slices.Contains(n.Stale, name) {
				cell.State = abi.FeedStale
			}
			name, _, _ = strings.Cut(name, ":")
			c.SetFeeds(state.Feed{Name: name, Cells: map[string]state.Cell{n.Name: cell}})
		}
		show(wire.JoinNode, state.OfNodes, n.Name, n.Objects)
		h.rows = append(h.rows, uint32(i))
	}
	c.UpdateSnapshot(h.snapshot)
	for i := range pods {
		h.pods = append(h.pods, state.NewPod(apiPod(&pods[i])))
	}
	var err error
	h.plugin, err = wasm.New(ctx,
		wasm.Config{Name: m.Manifest.Name, Config: m.Config, Grants: m.Manifest.Rights(), Shards: 1},
		wasm.Deps{Factory: m.code, Manifest: m.Manifest, Binder: nobody{}})
	return h, err
}

func (h *hosted) close(ctx context.Context) { _ = h.plugin.Close(context.WithoutCancel(ctx)) }

// nobody is a binder that refuses to bind.
type nobody struct{}

// Bind implements objects.Binder.
func (nobody) Bind(context.Context, objects.Binding) error {
	return errors.New("binding is disabled here")
}

// place runs the points about nodes for the i-th pod, as a cycle does. It returns the best node that is left, if there is one.
func (h *hosted) place(i int) (row uint32, ok bool) {
	h.state.Reset()
	h.turns++
	h.cycle = plugin.Cycle{Context: context.Background(), Snapshot: h.snapshot, Pod: h.pods[i%len(h.pods)], State: &h.state, Seed: h.turns}
	rows, filters := h.rows, h.has(abi.Filter)
	if h.has(abi.PreFilter) {
		var allowed []uint32
		var status *plugin.Status
		h.call(abi.PreFilter, func() { allowed, status = h.plugin.PreFilter(&h.cycle) })
		h.answered(abi.PreFilter, status)
		switch {
		case status.Is(abi.Skip):
			filters = false
		case !status.Success():
			return 0, false
		case allowed != nil:
			rows = allowed
		}
	}
	h.fit = h.fit[:0]
	if !filters {
		h.fit = append(h.fit, rows...)
	}
	for at := 0; filters && at < len(rows); at += plugin.BlockRows {
		block := rows[at:min(at+plugin.BlockRows, len(rows))]
		h.verdicts.Reset(len(block))
		h.call(abi.Filter, func() { h.plugin.Filter(&h.cycle, block, &h.verdicts) })
		h.judged(&h.verdicts)
		for k, row := range block {
			if h.verdicts.Codes[k] == abi.Success {
				h.fit = append(h.fit, row)
			}
		}
	}
	return h.score(h.fit)
}

// score scores the rows if the plugin implements Score, and returns the best of them.
func (h *hosted) score(rows []uint32) (row uint32, ok bool) {
	if len(rows) == 0 {
		return 0, false
	}
	if !h.has(abi.Score) {
		return rows[0], true
	}
	var status *plugin.Status
	if h.has(abi.PreScore) {
		h.call(abi.PreScore, func() { status = h.plugin.PreScore(&h.cycle, rows) })
		h.answered(abi.PreScore, status)
	} else {
		status = h.plugin.PreScore(&h.cycle, rows)
	}
	if !status.Success() {
		return rows[0], true
	}
	h.sums = append(h.sums[:0], make([]int64, len(rows))...)
	for at := 0; at < len(rows); at += plugin.BlockRows {
		end := min(at+plugin.BlockRows, len(rows))
		h.call(abi.Score, func() { h.plugin.Score(&h.cycle, rows[at:end], h.sums[at:end]) })
	}
	last := abi.Score
	if h.has(abi.Normalize) {
		last = abi.Normalize
		h.call(abi.Normalize, func() { h.plugin.Normalize(&h.cycle, rows, h.sums) })
	} else {
		h.plugin.Normalize(&h.cycle, rows, h.sums)
	}
	h.scored(last, h.sums)
	best := 0
	for k := range h.sums {
		if h.sums[k] > h.sums[best] {
			best = k
		}
	}
	return rows[best], true
}

// counts is what a plugin used.
type counts struct {
	fuel, written int64
	calls         float64
}

func (h *hosted) counts() counts {
	return counts{fuel: h.plugin.Fuel(), written: int64(h.plugin.BytesWritten()), calls: float64(h.plugin.Calls())}
}

// since returns the use per pod, for n pods.
func (c counts) since(before counts, n int) counts {
	n = max(n, 1)
	return counts{
		fuel: (c.fuel - before.fuel) / int64(n), written: (c.written - before.written) / int64(n), calls: (c.calls - before.calls) / float64(n),
	}
}

// apiNode returns a node as an API object.
func apiNode(n *berthtest.Node) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID(n.Name), Labels: n.Labels, Annotations: n.Annotations}}
	node.Status.Allocatable, node.Status.Capacity = apiResources(n.Allocatable), apiResources(n.Capacity)
	if n.CreatedAt != 0 {
		node.CreationTimestamp = metav1.Unix(n.CreatedAt, 0)
	}
	for _, t := range n.Taints {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: t.Key, Value: t.Value, Effect: v1.TaintEffect(t.Effect)})
	}
	for kind, status := range n.Conditions {
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: v1.NodeConditionType(kind), Status: v1.ConditionStatus(status)})
	}
	return node
}

// apiPod returns a pod as an API object.
func apiPod(p *berthtest.Pod) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: types.UID(fmt.Sprint(p.Namespace, "/", p.Name)), Labels: p.Labels, Annotations: p.Annotations,
	}}
	pod.Spec.Priority = &p.Priority
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: apiResources(p.Requests)}}}
	pod.Spec.Containers[0].Resources.Limits = apiResources(p.Limits)
	pod.Status.QOSClass = v1.PodQOSClass(p.QOS)
	if p.CreatedAt != 0 {
		pod.CreationTimestamp = metav1.Unix(p.CreatedAt, 0)
	}
	if p.AssignedAt != 0 {
		pod.Status.Conditions = append(pod.Status.Conditions,
			v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(p.AssignedAt, 0)})
	}
	if p.Running {
		pod.Status.Phase = v1.PodRunning
	}
	if p.Ready {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
	}
	for _, t := range p.Tolerations {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: t.Key, Value: t.Value, Effect: v1.TaintEffect(t.Effect)})
	}
	return pod
}

// apiResources converts amounts, which are milli-CPU, bytes or a count.
func apiResources(amounts map[string]int64) v1.ResourceList {
	list := make(v1.ResourceList)
	for name, n := range amounts {
		q := resource.NewQuantity(n, resource.DecimalSI)
		if name == string(v1.ResourceCPU) {
			q = resource.NewMilliQuantity(n, resource.DecimalSI)
		}
		list[v1.ResourceName(name)] = *q
	}
	return list
}
