package tck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// cycle is one pod's way through the points.
type cycle struct {
	plugin.Cycle
	profile *profile
	cluster *cluster.Cluster
	patch   state.Patch // of reserve, for the points after it
	info    map[string]*state.NodeInfo
}

// Call implements conformance.Cycle.
func (c *cycle) Call(ctx context.Context, call *conformance.Call) (*conformance.Answer, error) {
	p := c.profile.plugins[call.Plugin]
	if p == nil {
		return nil, fmt.Errorf("no plugin %q", call.Plugin)
	}
	c.profile.fault, c.profile.keyless, c.profile.binder.got = nil, false, nil
	a := &conformance.Answer{}
	if err := c.call(ctx, p, call, a); err != nil {
		return nil, err
	}
	if f := c.profile.fault; f != nil {
		return &conformance.Answer{Fault: kindOf(f.Kind), Output: f.Output}, nil
	}
	return a, nil
}

func kindOf(k fault.Kind) conformance.Fault {
	switch k {
	case fault.Trap, fault.OutOfFuel, fault.StackOverflow, fault.Deadline:
		return conformance.FaultTrap
	case fault.WroteSnapshot:
		return conformance.FaultRegion
	case fault.NoMemory:
		return conformance.FaultMemory
	}
	return conformance.FaultAnswer
}

func (c *cycle) call(ctx context.Context, p *wasm.Plugin, call *conformance.Call, a *conformance.Answer) error {
	switch call.Point {
	case abi.PreEnqueue:
		pods, out := asPods(call.Pods), make([]*plugin.Status, len(call.Pods))
		p.PreEnqueue(pods, out)
		// An Error of the call is the same Error for each of its pods.
		if shared := out[0]; shared.CodeOf() == abi.Error && !slices.ContainsFunc(out, func(s *plugin.Status) bool { return s != shared }) {
			a.Code, a.Reasons = shared.CodeOf(), shared.AllReasons()
			return nil
		}
		for _, status := range out {
			a.Codes, a.RowReasons = append(a.Codes, status.CodeOf()), append(a.RowReasons, status.AllReasons())
			var after time.Duration
			if status != nil {
				after = status.RetryAfter
			}
			a.RetryAfters = append(a.RetryAfters, after)
		}
	case abi.QueueSort:
		queued := make([]*state.QueuedPod, len(call.Pods))
		for i, pod := range asPods(call.Pods) {
			queued[i] = &state.QueuedPod{Pod: pod, Timestamp: time.Unix(0, call.Queue[i].Time), Attempts: int(call.Queue[i].Attempts)}
		}
		if p.Keys(queued); c.profile.keyless {
			a.Code = abi.Error
			return nil
		}
		for _, q := range queued {
			a.Keys = append(a.Keys, q.SortKey)
		}
	case abi.Hint:
		event, object := asEvent(call.Event)
		out := make([]state.Hint, len(call.Pods))
		for i := range out {
			out[i] = state.Queue
		}
		p.Hint(event, object, asPods(call.Pods), out)
		for _, h := range out {
			a.Codes = append(a.Codes, map[state.Hint]abi.Code{state.Queue: abi.Success, state.QueueSkip: abi.Skip}[h])
		}
	case abi.PreFilter, abi.Filter, abi.PostFilter, abi.PreScore, abi.Score, abi.Normalize:
		return c.rows(p, call, a)
	default:
		return c.placed(ctx, p, call, a)
	}
	return nil
}

func asPods(pods []cluster.Pod) []*state.Pod {
	out := make([]*state.Pod, len(pods))
	for i := range pods {
		out[i] = state.NewPod(object[v1.Pod](&pods[i]))
	}
	return out
}

// asEvent converts the event of a hint.
func asEvent(e *conformance.Event) (state.ClusterEvent, state.Object) {
	const others = abi.ActionUpdatePodReady | abi.ActionUpdateNamespaceLabel
	event := state.ClusterEvent{Resource: resources()[e.Resource], Action: state.Action(e.Actions &^ others)}
	if e.Actions&abi.ActionUpdatePodReady != 0 {
		event.Action |= state.UpdatePodReady
	}
	if e.Actions&abi.ActionUpdateNamespaceLabel != 0 {
		event.Action |= state.UpdateNamespaceLabel
	}
	var o state.Object
	if e.OldPod != nil {
		o.OldPod = state.NewPod(object[v1.Pod](e.OldPod))
	}
	if e.NewPod != nil {
		o.NewPod = state.NewPod(object[v1.Pod](e.NewPod))
	}
	if e.OldNode != nil {
		o.OldNode = state.NewNode(object[v1.Node](e.OldNode))
	}
	if e.NewNode != nil {
		o.NewNode = state.NewNode(object[v1.Node](e.NewNode))
	}
	switch {
	case e.Resource == abi.EventNamespaceObject:
		o.New = &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Name}}
	case e.Name != "":
		other := &v1.PersistentVolumeClaim{}
		other.Namespace, other.Name = e.Namespace, e.Name
		o.New = other
	}
	return event, o
}

func resources() []state.EventResource {
	return []state.EventResource{
		state.WildCardResource, state.AssignedPodResource, state.UnscheduledPodResource, state.NodeResource,
		state.PersistentVolumeResource, state.PersistentVolumeClaimResource, state.CSINodeResource, state.CSIDriverResource,
		state.VolumeAttachmentResource, state.CSIStorageCapacityResource, state.StorageClassResource,
		state.ResourceClaimResource, state.ResourceSliceResource, state.DeviceClassResource, state.NamespaceResource,
	}
}

// order is the rows of nodes, ascending, and where each is in the list of names.
func (c *cycle) order(names []string) (rows []uint32, at []int) {
	for i := range names {
		at = append(at, i)
	}
	rowOf := func(i int) uint32 {
		row, ok := c.Snapshot.Row(names[i])
		if !ok {
			panic("no node " + names[i])
		}
		return row
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Compare(rowOf(i), rowOf(j)) })
	for _, i := range at {
		rows = append(rows, rowOf(i))
	}
	return rows, at
}

// rows calls a point about nodes.
func (c *cycle) rows(p *wasm.Plugin, call *conformance.Call, a *conformance.Answer) error {
	answer := func(status *plugin.Status) {
		a.Code, a.Reasons = status.CodeOf(), status.AllReasons()
	}
	rows, at := c.order(call.Nodes)
	switch call.Point {
	case abi.PreFilter:
		narrowed, status := p.PreFilter(&c.Cycle)
		answer(status)
		a.RetryAfter = c.State.Retry().After
		if narrowed != nil {
			a.Narrowed, a.Rows = true, []string{}
			for _, row := range narrowed {
				a.Rows = append(a.Rows, c.Snapshot.Name(row))
			}
		}
	case abi.Filter:
		if call.WhatIf != nil {
			return c.whatIf(p, call, a)
		}
		c.filter(p, rows, at, a)
	case abi.PostFilter:
		d := &plugin.Diagnosis{Codes: make([]abi.Code, c.Snapshot.Len())}
		for i, code := range call.Verdicts {
			row, _ := c.Snapshot.Row(c.cluster.Nodes[i].Metadata.Name)
			d.Codes[row] = code
		}
		result, status := p.PostFilter(&c.Cycle, d)
		answer(status)
		asked := plugin.Directives{Allow: result.Allow, Reject: result.Reject}
		a.Directives = directives(&asked)
		if result.Override {
			a.Directives = append(a.Directives, wire.Directive{Kind: abi.Nominate, First: result.NominatedNode})
		}
	case abi.PreScore:
		answer(p.PreScore(&c.Cycle, rows))
	case abi.Score:
		scores := make([]int64, len(rows))
		answer(p.Score(&c.Cycle, rows, scores))
		a.Scores = make([]int64, len(rows))
		for k, i := range at {
			a.Scores[i] = scores[k]
		}
	case abi.Normalize:
		scores := make([]int64, len(rows))
		for k, i := range at {
			scores[k] = call.Scores[i]
		}
		answer(p.Normalize(&c.Cycle, rows, scores))
		a.Scores = make([]int64, len(rows))
		for k, i := range at {
			a.Scores[i] = scores[k]
		}
	}
	return nil
}

// filter calls the filter, cut as a pipeline would.
func (c *cycle) filter(p *wasm.Plugin, rows []uint32, at []int, a *conformance.Answer) {
	a.Codes, a.RowReasons = make([]abi.Code, len(rows)), make([][]string, len(rows))
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && (p.Info().Scope(abi.Filter) == abi.ScopeCluster || rows[to]/1024 == rows[from]/1024) {
			to++
		}
		var v plugin.Verdicts
		v.Reset(to - from)
		p.Filter(&c.Cycle, rows[from:to], &v)
		for k := from; k < to; k++ {
			a.Codes[at[k]], a.RowReasons[at[k]] = v.Codes[k-from], v.Texts(k-from)
		}
		from = to
	}
	// An Error of the call as a whole is an Error of every row, in this host's words.
	if len(rows) > 0 && len(a.RowReasons[0]) > 0 && a.RowReasons[0][0] == "the plugin failed" {
		a.Code, a.Reasons, a.Codes, a.RowReasons = abi.Error, a.RowReasons[0][1:], nil, nil
	}
}

// whatIf judges a node with other pods.
func (c *cycle) whatIf(p *wasm.Plugin, call *conformance.Call, a *conformance.Answer) error {
	row, ok := c.Snapshot.Row(call.Nodes[0])
	if !ok {
		return fmt.Errorf("no node %s", call.Nodes[0])
	}
	defer c.Snapshot.DropOverlays()
	trial := c.Cycle
	trial.State = c.State.Clone()
	overlay := c.Snapshot.Overlay(row)
	for _, pod := range asPods(call.WhatIf.Add) {
		c.Snapshot.AddPod(overlay, pod)
		if status := p.AddPod(&trial, overlay, pod); !status.Success() {
			a.Code, a.Reasons = status.CodeOf(), status.AllReasons()
			return nil
		}
	}
	for _, uid := range call.WhatIf.Remove {
		pod := c.profile.pods[uid]
		if pod == nil || !c.Snapshot.RemovePod(overlay, types.UID(uid)) {
			return fmt.Errorf("no pod %s on node %s", uid, call.Nodes[0])
		}
		if status := p.RemovePod(&trial, overlay, pod); !status.Success() {
			a.Code, a.Reasons = status.CodeOf(), status.AllReasons()
			return nil
		}
	}
	c.withCycle(&trial, func() { c.filter(p, []uint32{overlay}, []int{0}, a) })
	return nil
}

// withCycle runs a call with another state.
func (c *cycle) withCycle(other *plugin.Cycle, f func()) {
	own := c.Cycle
	c.Cycle = *other
	f()
	c.Cycle = own
}

// placed calls a point about a pod and its node.
func (c *cycle) placed(ctx context.Context, p *wasm.Plugin, call *conformance.Call, a *conformance.Answer) error {
	info := c.info[call.Node]
	if info == nil {
		known, ok := c.profile.cache.Node(call.Node)
		if !ok {
			return fmt.Errorf("no node %s", call.Node)
		}
		info = known.Clone()
		info.RemovePod(c.Pod.UID)
		if c.info == nil {
			c.info = map[string]*state.NodeInfo{}
		}
		c.info[call.Node] = info
	}
	pl := &plugin.Placement{
		Context: ctx, Pod: c.Pod.On(call.Node, c.patch), Node: info.Node, Info: info,
		Namespace: c.profile.namespaces[c.Pod.Namespace], Seed: c.Seed, State: c.State, Patch: c.patch,
	}
	var d plugin.Directives
	var status *plugin.Status
	switch call.Point {
	case abi.Reserve:
		if d, status = p.Reserve(pl); status.Success() {
			c.patch = c.patch.Merge(d.Patch)
		}
		a.RetryAfter = c.State.Retry().After
	case abi.Unreserve:
		d = p.Unreserve(pl)
	case abi.Permit:
		a.Wait, d, status = p.Permit(pl)
		a.RetryAfter = c.State.Retry().After
	case abi.PreBind:
		if d, status = p.PreBind(pl); status.Success() {
			c.patch = c.patch.Merge(d.Patch)
		}
	case abi.Bind:
		if d, status = p.Bind(pl); status.Success() {
			c.patch = c.patch.Merge(d.Patch)
		}
	case abi.PostBind:
		d = p.PostBind(pl)
	default:
		return fmt.Errorf("%v is no point of this host", call.Point)
	}
	a.Code, a.Reasons, a.Directives = status.CodeOf(), status.AllReasons(), directives(&d)
	if c.profile.binder.got != nil {
		a.Directives = append(a.Directives, wire.Directive{Kind: abi.BindPod})
	}
	return nil
}

// directives are what the host carries out, as the guest would ask for it.
func directives(d *plugin.Directives) (out []wire.Directive) {
	for _, key := range slices.Sorted(maps.Keys(d.Patch.Annotations)) {
		out = append(out, wire.Directive{Kind: abi.Annotate, First: key, Second: d.Patch.Annotations[key]})
	}
	for _, key := range slices.Sorted(maps.Keys(d.Patch.Labels)) {
		out = append(out, wire.Directive{Kind: abi.Label, First: key, Second: d.Patch.Labels[key]})
	}
	for _, uid := range d.Allow {
		out = append(out, wire.Directive{Kind: abi.Allow, First: string(uid)})
	}
	for _, r := range d.Reject {
		out = append(out, wire.Directive{Kind: abi.Reject, First: string(r.UID), Second: r.Reason})
	}
	for _, uid := range d.Activate {
		out = append(out, wire.Directive{Kind: abi.Activate, First: string(uid)})
	}
	return out
}
