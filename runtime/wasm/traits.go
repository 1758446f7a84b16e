package wasm

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// traits is what a plugin is: its configuration, its manifest, and what follows from them.
// It does not change.
type traits struct {
	config     Config
	manifest   *wire.Manifest
	info       plugin.Info
	declared   [abi.NumPoints]bool
	projection *mirror.Projection
	scaling    plugin.Scaling
	sharded    bool
	kept       bool   // answers for equivalent pods
	batch      uint32 // the most pods that a call can be about
	readsNode  bool   // at points after the node is chosen
	published  []publishedKey
	// public are keys of its state that others may read; hidden are keys that hold ids.
	public, hidden map[string]bool
}

func newTraits(c *Config, d *Deps) (traits, error) {
	m := d.Manifest
	t := traits{
		config: *c, manifest: m, sharded: m.Sharded(),
		projection: mirror.NewProjection(m, c.Namespaces), batch: batchOf(m), readsNode: readsPlaced(m),
		published: publishedKeys(m.Reads.Published), public: keySet(m.Publishes), hidden: keySet(m.CycleLocal),
	}
	for _, point := range m.Declared() {
		t.declared[point] = true
	}
	if m.Points.Score != nil {
		t.scaling = scalingOf(m.Points.Score.Normalize)
	}
	var err error
	t.info, err = infoOf(c, d)
	_, keyed := t.info.Keyed()
	t.kept = keyed && c.Kept
	return t, err
}

// batchOf returns how many pods a call of a module can be about.
func batchOf(m *wire.Manifest) uint32 {
	if m.Points.PreEnqueue != nil || m.Points.QueueSort != nil || m.Points.Hint != nil {
		return abi.MaxBatch
	}
	return 0
}

// readsPlaced reports whether a module reads the chosen node, with its pods.
func readsPlaced(m *wire.Manifest) bool {
	for _, point := range []abi.Point{abi.Reserve, abi.Unreserve, abi.Permit, abi.PreBind, abi.Bind, abi.PostBind} {
		if m.Points.Get(point) != nil {
			return len(m.Reads.Node)+len(m.Reads.Feeds) > 0
		}
	}
	return false
}

// Keyed reports whether answers of a module are kept for equivalent pods, and if not,
// why.
func Keyed(m *wire.Manifest) (why string, ok bool) {
	info := plugin.Info{Reads: readsOf(m), NodeScoped: nodeScopedOf(m)}
	return info.Keyed()
}

func nodeScopedOf(m *wire.Manifest) (out []abi.Point) {
	for _, point := range []abi.Point{abi.Filter, abi.Score} {
		if m.Points.Get(point) != nil && m.Scope(point) == abi.ScopeNode {
			out = append(out, point)
		}
	}
	return out
}

// infoOf translates a manifest.
func infoOf(c *Config, d *Deps) (plugin.Info, error) {
	m := d.Manifest
	info := plugin.Info{
		Name: c.Name, Module: m.Name + " " + m.Version, Digest: d.Factory.Digest(), Namespaces: slices.Sorted(slices.Values(c.Namespaces)),
		Budget: c.Budget, MaxPriority: c.MaxPriority, Reads: readsOf(m), Feeds: m.Reads.Feeds,
		NodeScoped: nodeScopedOf(m),
	}
	for _, name := range m.Enforces {
		f, ok := state.ParseFeature(name)
		if !ok {
			return info, fmt.Errorf("plugin %s: the manifest enforces %q, which is no feature that this host knows: %v", c.Name, name, state.FeatureNames())
		}
		info.Enforces |= f
	}
	if len(c.Namespaces) > 0 || c.policy(abi.Filter) == fault.Ignore || m.Points.Filter == nil {
		info.Enforces = 0 // there are pods that it does not see, or does not reject
	}
	for _, e := range m.Events {
		event := state.ClusterEvent{Resource: state.EventResource(e.Resource)}
		for _, name := range e.Actions {
			action, ok := state.ParseAction(name)
			if !ok {
				return info, fmt.Errorf("plugin %s: the manifest registers action %q, which this host does not know", c.Name, name)
			}
			event.Action |= action
		}
		info.Events = append(info.Events, plugin.Event{ClusterEvent: event})
	}
	if len(info.Events) == 0 {
		info.Events = []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}}}
	}
	return info, nil
}

// applies reports whether the plugin is for a pod at all.
func (t *traits) applies(pod *state.Pod) bool { return t.projection.Sees(pod.Namespace) }

// nodeScoped reports whether an answer of a point may depend on a row alone.
func (t *traits) nodeScoped(point abi.Point) bool {
	switch point {
	case abi.PreFilter:
		return t.sharded
	case abi.Filter:
		return t.info.Scope(abi.Filter) == abi.ScopeNode
	case abi.Score:
		return t.info.Scope(abi.Score) == abi.ScopeNode
	}
	return false
}

// instances returns how many instances hold n rows, if there is memory for them.
func (t *traits) instances(n int) int {
	if !t.sharded || t.kept {
		return 1
	}
	return mirror.Split(n, t.config.Shards)
}
