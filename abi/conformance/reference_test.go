package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// reference is a host that does what SPEC.md says, one call at a time and without optimization.
// mistake names the only thing that it does wrong.
type reference struct{ mistake string }

var (
	_ conformance.Host      = (*reference)(nil)
	_ conformance.Scheduler = (*reference)(nil)
)

func (h *reference) wrong(mistake string) bool { return h.mistake == mistake }

// profile implements conformance.Profile.
type profile struct {
	h          *reference
	plugins    []*plugin
	epoch      uint64
	generation uint64
}

// plugin is a loaded module.
type plugin struct {
	conformance.Plugin
	h      *reference
	p      *profile
	module *engineModule
	man    *wire.Manifest
	reads  *view.Reads
	cycle  *instance // for the points up to post_filter
	aux    *instance
	scoped *instance // for pre_filter of a guest of scope node
}

// Load implements conformance.Host.
func (h *reference) Load(_ context.Context, plugins []conformance.Plugin) (conformance.Profile, error) {
	p := &profile{h: h}
	for _, one := range plugins {
		pl, err := h.load(p, one)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", one.Name, err)
		}
		p.plugins = append(p.plugins, pl)
	}
	return p, nil
}

func (h *reference) load(p *profile, one conformance.Plugin) (*plugin, error) {
	var more api.CoreFeatures
	if h.wrong("accepts tail calls") {
		more = experimental.CoreFeaturesTailCall
	}
	m, err := loadEngine(one.Module, more)
	if err != nil {
		return nil, err
	}
	man, err := h.manifest(m.Module, one.Name)
	if err != nil && (man == nil || !h.wrong("does not check manifests")) {
		return nil, err
	}
	if err := wire.Check(m.Module, man, one.Name); err != nil && !h.wrong("does not check modules") {
		return nil, err
	}
	if man, err = h.resolve(man, one.Config); err != nil {
		return nil, err
	}
	switch {
	case len(man.Config) == 0 && len(one.Config) > 0 && string(one.Config) != "{}" && !h.wrong("accepts a configuration without a schema"):
		return nil, errors.New("the module has no configuration (ABI-9.8)")
	case man.Points.QueueSort != nil && len(one.Namespaces) > 0 && !h.wrong("attaches queue_key to namespaces"):
		return nil, errors.New("a module with queue_key is for all namespaces (ABI-5.11)")
	}
	for _, other := range p.plugins {
		if other.man.Points.QueueSort != nil && man.Points.QueueSort != nil && (!bytes.Equal(other.Module, one.Module) || !bytes.Equal(other.Config, one.Config)) {
			return nil, errors.New("all profiles sort by the same module (ABI-5.11)")
		}
	}
	declared, attached := man.Reads, one.Namespaces
	if h.wrong("columns are there that nobody declared") {
		declared.Node = append(slices.Clone(declared.Node), "zone")
	}
	if h.wrong("every plugin sees all namespaces") {
		attached = nil
	}
	pl := &plugin{Plugin: one, h: h, p: p, module: m, man: man, reads: view.NewReads(&declared, attached)}
	if _, err := pl.instantiate(); err != nil { // whether it can be started and configured
		return nil, err
	}
	return pl, nil
}

// resolve returns the manifest with the names that the configuration brings (ABI-9.15).
func (h *reference) resolve(man *wire.Manifest, config []byte) (*wire.Manifest, error) {
	brings := len(man.Reads.FromConfig) > 0
	fixed := len(man.Reads.NodeLabels)
	man, err := man.Resolve(config)
	if brings && err == nil && h.wrong("names of the configuration come first") {
		labels := man.Reads.NodeLabels
		man.Reads.NodeLabels = slices.Concat(labels[fixed:], labels[:fixed])
	}
	return man, err
}

// Close implements conformance.Profile.
func (p *profile) Close(context.Context) error { return nil }

// Begin implements conformance.Profile.
func (p *profile) Begin(_ context.Context, c *cluster.Cluster, pod *cluster.Pod) (conformance.Cycle, error) {
	p.generation++
	out := &cycle{p: p, cluster: c, states: map[string]*state{}, seed: p.generation * 0x9e3779b97f4a7c15}
	if pod != nil {
		own := *pod
		out.pod = &own
	}
	return out, nil
}

// cycle implements conformance.Cycle.
type cycle struct {
	p       *profile
	cluster *cluster.Cluster
	pod     *cluster.Pod
	states  map[string]*state
	seed    uint64
}

// state is the state of one plugin.
type state struct{ values map[string][]byte }

func (s *state) clone() *state {
	out := &state{values: map[string][]byte{}}
	for k, v := range s.values {
		out.values[k] = v
	}
	return out
}

func (s *state) set(h *reference, key string, value []byte) bool {
	size := len(key) + len(value)
	for k, v := range s.values {
		if k != key {
			size += len(k) + len(v)
		}
	}
	_, known := s.values[key]
	switch {
	case len(key) > abi.MaxStateKeySize && !h.wrong("keys of state have no limit"), len(value) > abi.MaxStateValue && !h.wrong("values of state have no limit"),
		size > abi.MaxStateSize && !h.wrong("state has no limit"), !known && len(s.values) >= abi.MaxStateKeys && !h.wrong("keys of state are not counted"):
		return false
	}
	s.values[key] = slices.Clone(value)
	return true
}

func (p *profile) plugin(name string) *plugin {
	for _, pl := range p.plugins {
		if pl.Name == name {
			return pl
		}
	}
	return nil
}

// Call implements conformance.Cycle.
func (c *cycle) Call(_ context.Context, call *conformance.Call) (*conformance.Answer, error) {
	pl := c.p.plugin(call.Plugin)
	if pl == nil {
		return nil, fmt.Errorf("there is no plugin %s", call.Plugin)
	}
	if c.states[pl.Name] == nil {
		c.states[pl.Name] = &state{values: map[string][]byte{}}
	}
	answer, err := c.called(pl, call)
	var f *fault
	if errors.As(err, &f) {
		answer = &conformance.Answer{Fault: f.kind, Output: f.output}
		if call.Point == abi.Hint {
			answer.Codes = make([]abi.Code, len(call.Pods))
		}
		if c.p.h.wrong("carries out what a faulted call asks for") {
			answer.Directives = f.directives
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	c.patch(answer)
	return answer, nil
}

// patch applies the patches to the pod.
func (c *cycle) patch(a *conformance.Answer) {
	for _, d := range a.Directives {
		m := &c.pod.Metadata
		switch {
		case c.p.h.wrong("later points do not see patches"):
		case d.Kind == abi.Annotate:
			m.Annotations = patched(m.Annotations, d)
		case d.Kind == abi.Label:
			m.Labels = patched(m.Labels, d)
		}
	}
}

func patched(m map[string]string, d wire.Directive) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = v
	}
	out[d.First] = d.Second
	return out
}

// fault is a failed call.
type fault struct {
	kind       conformance.Fault
	text       string
	output     string
	directives []wire.Directive
}

func (f *fault) Error() string { return string(f.kind) + ": " + f.text }

func faultf(kind conformance.Fault, format string, args ...any) *fault {
	return &fault{kind: kind, text: fmt.Sprintf(format, args...)}
}

// called makes the calls of a point.
func (c *cycle) called(pl *plugin, call *conformance.Call) (*conformance.Answer, error) {
	if call.Point == abi.Normalize && pl.man.Points.Normalize == nil {
		return &conformance.Answer{Scores: normalized(pl.h, pl.man.Points.Score.Normalize, call.Scores)}, nil
	}
	if call.WhatIf != nil {
		return c.whatIf(pl, call)
	}
	r := &request{call: call, point: call.Point, cluster: c.cluster, state: c.states[pl.Name]}
	switch {
	case call.Point.Aux():
		r.instance = &pl.aux
		r.cluster, r.aux = c.around(call), true
		if call.Point <= abi.Hint {
			r.state = nil
			r.pods = call.Pods
		}
	case call.Point == abi.PreFilter && pl.man.Sharded() && !pl.h.wrong("pre_filter of scope node sees nodes"):
		r.instance = &pl.scoped
		r.cluster = &cluster.Cluster{Namespaces: c.cluster.Namespaces}
	default:
		r.instance = &pl.cycle
	}
	return c.blocks(pl, r)
}

// blocks makes one call, or one per 1,024 rows for scope node (ABI-5.4).
func (c *cycle) blocks(pl *plugin, r *request) (*conformance.Answer, error) {
	call := r.call
	r.rows = c.rows(call)
	if len(r.pods) > abi.MaxBatch && !pl.h.wrong("does not cut calls at 1,024 pods") {
		return c.batches(pl, r)
	}
	if pl.man.Scope(call.Point) == abi.ScopeCluster || len(r.rows) == 0 || pl.h.wrong("does not cut calls at blocks") {
		out, err := c.answer(pl, r, c.inRows(call))
		if err == nil && len(r.rows) > 0 && call.Point != abi.PostFilter {
			c.asAsked(call, out)
		}
		return out, err
	}
	out := &conformance.Answer{}
	rows := r.rows
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(row uint32) bool { return row/1024 != rows[0]/1024 })
		if n < 0 {
			n = len(rows)
		}
		r.rows, rows = rows[:n], rows[n:]
		one, err := c.answer(pl, r, nil)
		if err != nil || one.Code != abi.Success {
			return one, err
		}
		out.Codes = append(out.Codes, one.Codes...)
		out.RowReasons = append(out.RowReasons, one.RowReasons...)
		out.Scores = append(out.Scores, one.Scores...)
	}
	c.asAsked(call, out)
	return out, nil
}

// batches makes a call per 1,024 pods (ABI-10).
func (c *cycle) batches(pl *plugin, r *request) (*conformance.Answer, error) {
	out := &conformance.Answer{}
	queue := r.call.Queue
	for pods := range slices.Chunk(r.pods, abi.MaxBatch) {
		part, call := *r, *r.call
		part.pods, part.call = pods, &call
		if queue != nil {
			call.Queue, queue = queue[:len(pods)], queue[len(pods):]
		}
		one, err := c.answer(pl, &part, nil)
		if err != nil || one.Code != abi.Success {
			return one, err
		}
		out.Codes, out.RowReasons, out.Keys = append(out.Codes, one.Codes...), append(out.RowReasons, one.RowReasons...), append(out.Keys, one.Keys...)
	}
	return out, nil
}

// inRows returns normalize's scores in the order of rows.
func (c *cycle) inRows(call *conformance.Call) (out []int64) {
	for _, row := range c.rows(call) {
		if at := slices.Index(call.Nodes, c.cluster.Nodes[row].Metadata.Name); at >= 0 && at < len(call.Scores) {
			out = append(out, call.Scores[at])
		}
	}
	return out
}

// asAsked reorders answers from the order of rows to that of the call's nodes.
func (c *cycle) asAsked(call *conformance.Call, a *conformance.Answer) {
	rows := map[string]int{}
	for i, row := range c.rows(call) {
		rows[c.cluster.Nodes[row].Metadata.Name] = i
	}
	codes, reasons, scores := slices.Clone(a.Codes), slices.Clone(a.RowReasons), slices.Clone(a.Scores)
	for i, name := range call.Nodes {
		if len(codes) > 0 {
			a.Codes[i], a.RowReasons[i] = codes[rows[name]], reasons[rows[name]]
		}
		if len(scores) > 0 {
			a.Scores[i] = scores[rows[name]]
		}
	}
}

// rows returns the rows of the call's nodes, which are in the order of the cluster.
func (c *cycle) rows(call *conformance.Call) (out []uint32) {
	if call.Point == abi.PostFilter {
		for row := range c.cluster.Nodes {
			out = append(out, uint32(row))
		}
		return out
	}
	for row := range c.cluster.Nodes {
		if slices.Contains(call.Nodes, c.cluster.Nodes[row].Metadata.Name) {
			out = append(out, uint32(row))
		}
	}
	return out
}

// around returns the cluster of an aux instance (ABI-2.11).
func (c *cycle) around(call *conformance.Call) *cluster.Cluster {
	out := &cluster.Cluster{}
	if c.p.h.wrong("aux instances hold all nodes") {
		return c.cluster
	}
	if c.p.h.wrong("aux instances hold namespaces") {
		out.Namespaces = c.cluster.Namespaces
	}
	if call.Point == abi.Hint && call.Event != nil {
		for _, n := range []*cluster.Node{call.Event.OldNode, call.Event.NewNode} {
			if n != nil {
				out.Nodes = append(out.Nodes, *n)
			}
		}
	}
	if call.Point >= abi.Reserve {
		out.Nodes = append(out.Nodes, *c.cluster.Node(call.Node))
		for _, p := range c.cluster.PodsOn(call.Node) {
			if c.pod == nil || p.Metadata.UID != c.pod.Metadata.UID || c.p.h.wrong("the pod is on its own node") {
				out.Pods = append(out.Pods, *p)
			}
		}
	}
	return out
}

// whatIf calls add_pod and remove_pod, and then filter for the overlay row.
func (c *cycle) whatIf(pl *plugin, call *conformance.Call) (*conformance.Answer, error) {
	node := slices.IndexFunc(c.cluster.Nodes, func(n cluster.Node) bool { return n.Metadata.Name == call.Nodes[0] })
	world := *c.cluster
	world.Pods = slices.Clone(c.cluster.Pods)
	var on []int
	for i := range world.Pods {
		if world.Pods[i].Spec.NodeName == call.Nodes[0] {
			on = append(on, i)
		}
	}
	own := c.states[pl.Name].clone()
	if pl.h.wrong("what-if changes the state of the cycle") {
		own = c.states[pl.Name]
	}
	step := func(point abi.Point, pod *cluster.Pod) (*conformance.Answer, error) {
		if pl.man.Points.Get(point) == nil || point != abi.Filter && pl.h.wrong("does not call add_pod and remove_pod") {
			return nil, nil
		}
		r := &request{call: call, point: point, cluster: &world, state: own, instance: &pl.cycle}
		r.overlays = []image.Overlay{{Node: node, Pods: slices.Clone(on)}}
		if pod != nil {
			r.pods = []cluster.Pod{*pod}
		}
		return c.answer(pl, r, nil)
	}
	for _, p := range call.WhatIf.Add {
		world.Pods = append(world.Pods, p)
		on = append(on, len(world.Pods)-1)
		if _, err := step(abi.AddPod, &p); err != nil {
			return nil, err
		}
	}
	for _, uid := range call.WhatIf.Remove {
		at := slices.IndexFunc(on, func(i int) bool { return world.Pods[i].Metadata.UID == uid })
		pod := world.Pods[on[at]]
		on = slices.Delete(on, at, at+1)
		if _, err := step(abi.RemovePod, &pod); err != nil {
			return nil, err
		}
	}
	return step(abi.Filter, nil)
}

// request is one call of a guest.
type request struct {
	call     *conformance.Call
	point    abi.Point
	cluster  *cluster.Cluster // as the instance holds it
	aux      bool
	instance **instance
	rows     []uint32
	overlays []image.Overlay
	pods     []cluster.Pod
	state    *state
}
