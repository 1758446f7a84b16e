package pipeline

import (
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// shared is a plugin for a part of the pods.
type shared struct {
	index int
	share state.Share
}

// maxShares is what a viewKey can hold.
const maxShares = 64

// ShareOf returns the part of the pods that a plugin acts on, by its name; false if there is no such
// plugin.
func (p *Pipeline) ShareOf(name string) (state.Share, bool) {
	index, ok := p.index[name]
	for i := range p.shared {
		if ok && p.shared[i].index == index {
			return p.shared[i].share, true
		}
	}
	return state.Share{}, ok
}

// enforce collects the features that plugins enforce for all pods. Versions of a plugin enforce what
// each of them enforces, if there is one for each pod.
func (p *Pipeline) enforce() {
	versions := make(map[string]*versions)
	for i, info := range p.infos {
		share, _ := p.ShareOf(info.Name)
		if share.All() {
			p.enforced |= info.Enforces
			continue
		}
		v := versions[share.Key]
		if v == nil {
			v = newVersions()
			versions[share.Key] = v
		}
		v.add(p.infos[i], share)
	}
	for _, v := range versions {
		p.enforced |= v.enforced()
	}
}

// versions are the plugins whose shares have one key.
type versions struct {
	features state.Feature
	buckets  int
}

func newVersions() *versions { return &versions{features: ^state.Feature(0)} }

func (v *versions) add(info *plugin.Info, share state.Share) {
	v.features &= info.Enforces
	v.buckets += share.To - share.From
}

// enforced is what all versions enforce; nothing, if some pods have no version. Shares of a key do
// not overlap.
func (v *versions) enforced() state.Feature {
	if v.buckets < state.Buckets {
		return 0
	}
	return v.features
}
