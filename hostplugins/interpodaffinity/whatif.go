package interpodaffinity

import (
	"errors"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// AddPod counts a pod that a what-if adds, and its terms.
func (p *InterPodAffinity) AddPod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.change(c, overlay, pod, 1)
}

// RemovePod subtracts a pod that a what-if removes, and its terms.
func (p *InterPodAffinity) RemovePod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.change(c, overlay, pod, -1)
}

func (p *InterPodAffinity) change(c *plugin.Cycle, overlay uint32, pod *state.Pod, delta int64) *plugin.Status {
	r, ok := c.State.Read(Name, preFilterKey).(*required)
	if !ok {
		return plugin.Fail(errors.New("there is no PreFilter state to change"))
	}
	note := func(k kind, topologyKey string) {
		key := c.Snapshot.Strings.Lookup(topologyKey)
		if value := c.Snapshot.Nodes.Labels.Key(key).At(overlay); value != 0 {
			r.note(change{kind: k, key: key, value: value, delta: delta})
		}
	}
	if a := pod.Affinity; a != nil {
		for i := range a.RequiredAnti.List {
			if t := &a.RequiredAnti.List[i]; t.Matches(c.Pod.Namespace, r.namespaceLabels, c.Pod.Object.Labels) {
				note(existing, t.TopologyKey)
			}
		}
	}
	own := c.Pod.Affinity
	if own == nil {
		return nil
	}
	if list := own.Required.List; len(list) > 0 && p.selects(list, pod.Namespace, pod.Object.Labels) {
		for i := range r.affinity {
			note(affinity, r.affinity[i].key)
		}
	}
	for i := range own.RequiredAnti.List {
		if p.selects(own.RequiredAnti.List[i:i+1], pod.Namespace, pod.Object.Labels) {
			note(antiAffinity, own.RequiredAnti.List[i].TopologyKey)
		}
	}
	return nil
}

// note adds to an earlier change of the same domain, if there is one.
func (r *required) note(c change) {
	for i := range r.changes {
		if o := &r.changes[i]; o.kind == c.kind && o.key == c.key && o.value == c.value {
			o.delta += c.delta
			return
		}
	}
	r.changes = append(r.changes, c)
}
