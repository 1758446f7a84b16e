package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// attachedRecord is an attached plugin in a recording. One that does not run has no module, and says why. With Folder it
// marks a plugin of the profiles that is a module of a plugin folder.
type attachedRecord struct {
	Name       string            `json:"name"`
	Folder     bool              `json:"folder,omitempty"`
	NotReady   string            `json:"notReady,omitempty"`
	Holds      bool              `json:"holds,omitempty"`
	Namespaces []string          `json:"namespaces,omitempty"`
	Share      state.Share       `json:"share"`
	Module     *module.Reference `json:"module,omitempty"`
}

// recordedAttached returns attached plugins in the form in which a recording has them, and their modules: each is a
// file that is named by its digest. Plugins in shadow decide nothing, and are left out. Those of s that come from a plugin folder
// are named as well.
func recordedAttached(s *config.Scheduler, with *attached) (data json.RawMessage, modules []inbox.Module, err error) {
	var out []attachedRecord
	for _, m := range ofFolder(s) {
		out = append(out, attachedRecord{Name: m.Loaded.Name, Folder: true})
	}
	for i := range with.all {
		x := &with.all[i]
		if x.inShadow() {
			continue
		}
		r := attachedRecord{Name: x.Name, NotReady: x.NotReady, Holds: x.Holds, Namespaces: x.Namespaces, Share: x.Share}
		switch {
		case x.Module == nil:
		case with.refused[x.Name] != nil:
			r.NotReady = Refused
		default:
			m := recordedModule(x.Module.Loaded)
			modules = append(modules, m)
			ref := x.Module.Reference
			ref.Path, ref.URL, ref.Image, ref.Digest, ref.ConfigFile, ref.Policy = m.File, "", "", "", "", nil
			ref.Signed, ref.Fresh, ref.Folder, ref.GrantAll = false, false, false, false
			ref.Name, ref.Config, ref.Grants = x.Module.Loaded.Name, x.Module.Loaded.Config, x.Module.Loaded.Grants
			r.Module = &ref
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, nil, nil
	}
	data, err = json.Marshal(out)
	return data, modules, err
}

// ofFolder returns the modules of a plugin folder in a configuration, by name. They are in all profiles.
func ofFolder(s *config.Scheduler) (out []*Module) {
	if len(s.Profiles) == 0 {
		return nil
	}
	args := s.Profiles[0].Args
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if m := moduleOf(args[name]); m != nil && m.Reference.Folder {
			out = append(out, m)
		}
	}
	return out
}

// WithFolder returns another configuration file with the modules of the plugin folder that c has.
//
// # Errors
//
// A profile has a plugin of the same name, or another module sorts the queue.
func (c *Config) WithFolder(s *config.Scheduler) (*config.Scheduler, error) {
	out := clone(s)
	for _, m := range ofFolder(c.Scheduler) {
		if err := m.Enable(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// replayedAttached returns the attached plugins of a recording, and marks those of a plugin folder in s.
func replayedAttached(s *config.Scheduler, data json.RawMessage, modules *Modules) ([]Attached, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var records []attachedRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, fmt.Errorf("the recorded attached plugins: %w", err)
	}
	var out []Attached
	for _, r := range records {
		if r.Folder {
			ofThat := func(ref config.PluginRef) bool { return ref.Name == r.Name }
			for i := range s.Profiles {
				p := &s.Profiles[i]
				if m := moduleOf(p.Args[r.Name]); m != nil {
					m.Reference.Folder = true
					if at := slices.IndexFunc(p.Points["score"], ofThat); at >= 0 {
						m.Reference.Weight = p.Points["score"][at].Weight
					}
				}
			}
			continue
		}
		x := Attached{Name: r.Name, NotReady: r.NotReady, Holds: r.Holds, Namespaces: r.Namespaces, Share: r.Share}
		if r.Module != nil {
			m, err := modules.loadRecorded(*r.Module)
			if err != nil {
				return nil, fmt.Errorf("the recorded attached plugin %s: %w", r.Name, err)
			}
			m.Share = r.Share
			x.Module = m
		}
		out = append(out, x)
	}
	return out, nil
}
