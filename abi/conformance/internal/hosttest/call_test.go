package hosttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// cycle implements conformance.Cycle.
type cycle struct {
	plugin.Cycle
	profile *profile
	cluster *cluster.Cluster
	patch   state.Patch // of the pod so far
}

// Call implements conformance.Cycle.
func (c *cycle) Call(_ context.Context, call *conformance.Call) (*conformance.Answer, error) {
	pl := c.profile.plugin(call.Plugin)
	pl.ear.fault()
	out := &conformance.Answer{}
	var err error
	switch p := call.Point; {
	case p <= abi.Hint:
		c.queued(pl, call, out)
	case p == abi.Filter && call.WhatIf != nil:
		c.whatIf(pl, call, out)
	case p <= abi.Normalize:
		err = c.nodes(pl, call, out)
	default:
		err = c.placed(pl, call, out)
	}
	kind, words, other := pl.ear.fault()
	switch {
	case kind != "":
		for _, texts := range append(out.RowReasons, out.Reasons) { // a fault quotes what the guest wrote
			words += strings.Join(texts, "\n")
		}
		out.Fault, out.Output, out.RowReasons = kind, words, nil
		if call.Point != abi.Hint {
			out.Codes = nil
		}
	case other:
		*out = conformance.Answer{Code: abi.Error}
	}
	return out, err
}

func (out *conformanceAnswer) set(s *plugin.Status) {
	out.Code = s.CodeOf()
	if s != nil {
		out.Reasons = s.AllReasons()
	}
}

type conformanceAnswer conformance.Answer

// queued calls the points about many pods, 1,024 at once.
func (c *cycle) queued(pl *loaded, call *conformance.Call, out *conformance.Answer) {
	pods := make([]*state.Pod, len(call.Pods))
	queued := make([]*state.QueuedPod, len(call.Pods))
	for i := range call.Pods {
		pods[i] = podOf(&call.Pods[i])
		queued[i] = &state.QueuedPod{Pod: pods[i]}
		if call.Queue != nil {
			queued[i].Timestamp, queued[i].Attempts = time.Unix(0, call.Queue[i].Time), int(call.Queue[i].Attempts)
		}
	}
	switch call.Point {
	case abi.PreEnqueue:
		for part := range slices.Chunk(pods, abi.MaxBatch) {
			statuses := make([]*plugin.Status, len(part))
			pl.PreEnqueue(part, statuses)
			for _, s := range statuses {
				out.Codes = append(out.Codes, s.CodeOf())
				out.RowReasons = append(out.RowReasons, reasons(s))
			}
			if first := statuses[0]; first.CodeOf() == abi.Error && len(statuses) > 1 && statuses[1] == first { // of the call
				(*conformanceAnswer)(out).set(first)
			}
		}
	case abi.QueueSort:
		for part := range slices.Chunk(queued, abi.MaxBatch) {
			pl.Keys(part)
		}
		for _, q := range queued {
			if q.SortKey != nil {
				out.Keys = append(out.Keys, q.SortKey)
			}
		}
	case abi.Hint:
		hints := slices.Repeat([]state.Hint{state.Queue}, len(pods))
		event, about := eventOf(call.Event)
		pl.Hint(event, about, pods, hints)
		for _, h := range hints {
			code := abi.Success
			if h == state.QueueSkip {
				code = abi.Skip
			}
			out.Codes = append(out.Codes, code)
		}
	}
}

func reasons(s *plugin.Status) []string {
	if s == nil {
		return nil
	}
	return s.AllReasons()
}

func eventOf(e *conformance.Event) (state.ClusterEvent, state.Object) {
	resources := []state.EventResource{
		state.WildCardResource, state.AssignedPodResource, state.UnscheduledPodResource, state.NodeResource, state.PersistentVolumeResource,
		state.PersistentVolumeClaimResource, state.CSINodeResource, state.CSIDriverResource, state.VolumeAttachmentResource,
		state.CSIStorageCapacityResource, state.StorageClassResource, state.ResourceClaimResource, state.ResourceSliceResource,
		state.DeviceClassResource,
	}
	about := state.Object{OldPod: podOf(e.OldPod), NewPod: podOf(e.NewPod), OldNode: nodeOf(e.OldNode), NewNode: nodeOf(e.NewNode)}
	if e.Name != "" {
		other := &v1.PersistentVolumeClaim{} // of any kind
		other.Namespace, other.Name = e.Namespace, e.Name
		about.New = other
	}
	return state.ClusterEvent{Resource: resources[e.Resource], Action: state.Action(e.Actions)}, about
}

// rows are the rows of nodes, ascending, and the position of each in the call.
func (c *cycle) rows(call *conformance.Call) (rows []uint32, at []int) {
	for row := range uint32(c.Snapshot.Len()) {
		if i := slices.Index(call.Nodes, c.Snapshot.Name(row)); i >= 0 {
			rows, at = append(rows, row), append(at, i)
		}
	}
	return rows, at
}

// nodes calls the points from pre_filter to normalize.
func (c *cycle) nodes(pl *loaded, call *conformance.Call, out *conformance.Answer) error {
	rows, at := c.rows(call)
	answer := (*conformanceAnswer)(out)
	switch call.Point {
	case abi.PreFilter:
		set, status := pl.PreFilter(&c.Cycle)
		answer.set(status)
		out.Narrowed = set != nil
		for _, row := range set {
			out.Rows = append(out.Rows, c.Snapshot.Name(row))
		}
	case abi.Filter:
		c.filter(pl, rows, at, out)
	case abi.PostFilter:
		d := &plugin.Diagnosis{Codes: make([]abi.Code, c.Snapshot.Len())}
		for i, code := range call.Verdicts {
			row, _ := c.Snapshot.Row(c.cluster.Nodes[i].Metadata.Name)
			d.Codes[row] = code
		}
		result, status := pl.PostFilter(&c.Cycle, d)
		answer.set(status)
		if result.Override {
			out.Directives = []wire.Directive{{Kind: abi.Nominate, First: result.NominatedNode}}
		}
		out.Directives = append(out.Directives, directives(plugin.Directives{Allow: result.Allow, Reject: result.Reject})...)
	case abi.PreScore:
		answer.set(pl.PreScore(&c.Cycle, rows))
	case abi.Score, abi.Normalize:
		scores := make([]int64, len(rows))
		if call.Point == abi.Score {
			answer.set(pl.Score(&c.Cycle, rows, scores))
		} else {
			for i := range rows {
				scores[i] = call.Scores[at[i]]
			}
			answer.set(pl.Normalize(&c.Cycle, rows, scores))
		}
		out.Scores = make([]int64, len(rows))
		for i := range rows {
			out.Scores[at[i]] = scores[i]
		}
	default:
		return fmt.Errorf("there is no point %s", call.Point)
	}
	return nil
}

// filter calls filter block by block, as the pipeline does.
func (c *cycle) filter(pl *loaded, rows []uint32, at []int, out *conformance.Answer) {
	out.Codes, out.RowReasons = make([]abi.Code, len(rows)), make([][]string, len(rows))
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(row uint32) bool { return row/1024 != rows[0]/1024 })
		if n < 0 {
			n = len(rows)
		}
		v := &plugin.Verdicts{}
		v.Reset(n)
		pl.Filter(&c.Cycle, rows[:n], v)
		for i := range n {
			out.Codes[at[i]], out.RowReasons[at[i]] = v.Codes[i], v.Texts(i)
			if slices.Contains(v.Texts(i), "the plugin failed") {
				out.Code, out.Reasons = abi.Error, v.Texts(i)
			}
		}
		rows, at = rows[n:], at[n:]
	}
}

// whatIf judges an overlay row, as a trial of preemption does.
func (c *cycle) whatIf(pl *loaded, call *conformance.Call, out *conformance.Answer) {
	row, _ := c.Snapshot.Row(call.Nodes[0])
	overlay := c.Snapshot.Overlay(row)
	defer c.Snapshot.DropOverlays()
	trial := c.Cycle
	trial.State = c.State.Clone()
	for i := range call.WhatIf.Add {
		p := podOf(&call.WhatIf.Add[i])
		c.Snapshot.AddPod(overlay, p)
		if pl.man.Points.AddPod != nil {
			if status := pl.AddPod(&trial, overlay, p); !status.Success() {
				(*conformanceAnswer)(out).set(status)
				return
			}
		}
	}
	for _, uid := range call.WhatIf.Remove {
		p, _ := c.profile.cache.Get(types.UID(uid))
		c.Snapshot.RemovePod(overlay, p.UID)
		if pl.man.Points.RemovePod != nil {
			if status := pl.RemovePod(&trial, overlay, p); !status.Success() {
				(*conformanceAnswer)(out).set(status)
				return
			}
		}
	}
	v := &plugin.Verdicts{}
	v.Reset(1)
	pl.Filter(&trial, []uint32{overlay}, v)
	out.Codes, out.RowReasons = v.Codes, [][]string{v.Texts(0)}
}

// placed calls the points from reserve on.
func (c *cycle) placed(pl *loaded, call *conformance.Call, out *conformance.Answer) error {
	p, err := c.placement(call.Node)
	if err != nil {
		return err
	}
	var asked plugin.Directives
	var status *plugin.Status
	switch call.Point {
	case abi.Reserve:
		asked, status = pl.Reserve(p)
	case abi.Unreserve:
		asked = pl.Unreserve(p)
	case abi.Permit:
		out.Wait, asked, status = pl.Permit(p)
	case abi.PreBind:
		asked, status = pl.PreBind(p)
	case abi.Bind:
		c.profile.bound = nil
		asked, status = pl.Bind(p)
		if b := c.profile.bound; b != nil { // what it wrote went with the binding
			out.Directives = []wire.Directive{{Kind: abi.BindPod}}
			asked.Patch = state.Patch{
				Annotations: since(c.patch.Annotations, b.Patch.Annotations), Labels: since(c.patch.Labels, b.Patch.Labels),
			}
		}
	case abi.PostBind:
		asked = pl.PostBind(p)
	default:
		return fmt.Errorf("there is no point %s", call.Point)
	}
	(*conformanceAnswer)(out).set(status)
	out.Directives = append(out.Directives, directives(asked)...)
	c.patch = c.patch.Merge(asked.Patch)
	return nil
}

// since is what is in a map and was not before.
func since(before, after map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range after {
		if old, there := before[k]; !there || old != v {
			out[k] = v
		}
	}
	return out
}

// placement is the pod on the node, with what was written on it.
func (c *cycle) placement(node string) (*plugin.Placement, error) {
	around := cache.New(cache.Config{})
	if err := fill(around, c.cluster, c.Pod.UID); err != nil {
		return nil, err
	}
	info, ok := around.Node(node)
	if !ok {
		return nil, fmt.Errorf("there is no node %s", node)
	}
	return &plugin.Placement{
		Context: c.Context, Pod: c.Pod.On(node, c.patch), Node: info.Node, Info: info, Namespace: c.profile.namespace(c.Pod.Namespace),
		Seed: c.Seed, State: c.State, Patch: c.patch,
	}, nil
}

// directives are what the host carries out, in the kit's words.
func directives(d plugin.Directives) (out []wire.Directive) {
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
