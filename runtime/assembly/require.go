package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// RequireName is the name of the plugin that keeps back the pods of modules whose required feeds are not fresh, and the reason that
// these pods have.
const RequireName = "FeedNotFresh"

// requirement is a module's: pods of Namespaces (none means all) wait while one of the feeds has no fresh value.
type requirement struct {
	Plugin     string
	Feeds      []string // names without units
	Objects    []requiredObjects
	Namespaces []string
	Share      state.Share
}

// requiredObjects are objects that must be known.
type requiredObjects struct{ View, Resource string }

// requirements returns those of a profile's modules, sorted by plugin. A module in shadow, which decides nothing, has none.
func requirements(p *config.Profile) (out []requirement) {
	for _, name := range slices.Sorted(maps.Keys(p.Args)) {
		m := moduleOf(p.Args[name])
		if m == nil || !enabledIn(p, name) || m.trial != "" {
			continue
		}
		r := requirement{Plugin: name, Namespaces: m.Reference.Namespaces, Share: m.Share}
		for _, feed := range m.Loaded.Manifest.Reads.RequiredFeeds {
			bare, _, _ := strings.Cut(feed, ":")
			r.Feeds = append(r.Feeds, bare)
		}
		for _, view := range m.Loaded.Manifest.ObjectViews() {
			if view.Required {
				r.Objects = append(r.Objects, requiredObjects{view.Key(), view.Resource})
			}
		}
		if len(r.Feeds)+len(r.Objects) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// enabledIn reports whether a profile has a plugin at a point.
func enabledIn(p *config.Profile, name string) bool {
	for _, refs := range p.Points {
		if slices.ContainsFunc(refs, func(r config.PluginRef) bool { return r.Name == name }) {
			return true
		}
	}
	return false
}

// require returns a configuration whose profiles have the plugin before all others, where modules require feeds.
func require(s *config.Scheduler) *config.Scheduler {
	cloned := false
	for i := range s.Profiles {
		all := requirements(&s.Profiles[i])
		if len(all) == 0 {
			continue
		}
		if !cloned {
			s, cloned = clone(s), true
		}
		first(&s.Profiles[i], RequireName, all)
	}
	return s
}

// first adds a plugin before all others, which gates pods and rejects those in the queue. The configuration of a scheduler that runs, of
// which another is made, has it already.
func first(p *config.Profile, plugin string, args any) {
	for _, point := range []abi.Point{abi.PreEnqueue, abi.PreFilter} {
		name := configName(point)
		others := slices.DeleteFunc(p.Points[name], func(r config.PluginRef) bool { return r.Name == plugin })
		p.Points[name] = append([]config.PluginRef{{Name: plugin}}, others...)
	}
	if p.Args == nil {
		p.Args = make(map[string]config.Args)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("BUG: args of %s: %v", plugin, err))
	}
	p.Args[plugin] = config.Args{Raw: raw}
}

// requireFeeds keeps back pods: new ones at PreEnqueue, and those that are in the queue already at PreFilter. News of feeds wake them.
type requireFeeds struct {
	info plugin.Info
	all  []requirement
	// state returns that of a feed, as the cache has it. It is called on the loop.
	state func(feed string) uint8
}

var (
	_ plugin.PreEnqueue = (*requireFeeds)(nil)
	_ plugin.PreFilter  = (*requireFeeds)(nil)
)

// newRequire returns a plugin.Factory.
func newRequire(stateOf func(feed string) uint8) plugin.Factory {
	return func(args any) (plugin.Plugin, error) {
		r := &requireFeeds{state: stateOf, info: plugin.Info{
			Name: RequireName, Reads: plugin.Whole(abi.IncomingNamespace),
			Events: []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.FeedResource, Action: state.Update}}},
		}}
		if raw, ok := args.([]byte); !ok || json.Unmarshal(raw, &r.all) != nil {
			return nil, fmt.Errorf("BUG: args of %s are %v", RequireName, args)
		}
		return r, nil
	}
}

// Info describes the plugin.
func (r *requireFeeds) Info() *plugin.Info { return &r.info }

// PreEnqueue gates pods whose plugins miss a feed.
func (r *requireFeeds) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		out[i] = r.status(pod)
	}
}

// PreFilter rejects pods that were in the queue before.
func (r *requireFeeds) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	return nil, r.status(c.Pod)
}

// status names the first plugin and feed that the pod waits for; nil if there is none.
func (r *requireFeeds) status(pod *state.Pod) *plugin.Status {
	for i := range r.all {
		x := &r.all[i]
		if len(x.Namespaces) > 0 && !slices.Contains(x.Namespaces, pod.Namespace) || !x.Share.Has(pod) {
			continue
		}
		for _, o := range x.Objects {
			if r.state(o.View) == abi.FeedNone {
				return plugin.NewStatus(abi.UnschedulableAndUnresolvable,
					fmt.Sprintf("%s: the plugin %s requires objects of %s, which are not known yet", RequireName, x.Plugin, o.Resource))
			}
		}
		for _, feed := range x.Feeds {
			switch r.state(feed) {
			case abi.FeedNone:
				return plugin.NewStatus(abi.UnschedulableAndUnresolvable,
					fmt.Sprintf("%s: the plugin %s requires the feed %s, which has no value yet", RequireName, x.Plugin, feed))
			case abi.FeedStale:
				return plugin.NewStatus(abi.UnschedulableAndUnresolvable,
					fmt.Sprintf("%s: the plugin %s requires the feed %s, all of whose values are stale", RequireName, x.Plugin, feed))
			}
		}
	}
	return nil
}
