package assembly

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// attachedRecord is an attached plugin in a recording. One that does not run has no module, and says why.
type attachedRecord struct {
	Name       string            `json:"name"`
	NotReady   string            `json:"notReady,omitempty"`
	Holds      bool              `json:"holds,omitempty"`
	Namespaces []string          `json:"namespaces,omitempty"`
	Share      state.Share       `json:"share"`
	Module     *module.Reference `json:"module,omitempty"`
}

// recordedAttached returns attached plugins in the form in which a recording has them, and their modules: each is a
// file that is named by its digest. Plugins in shadow decide nothing, and are left out.
func recordedAttached(with *attached) (data json.RawMessage, modules []inbox.Module, err error) {
	var out []attachedRecord
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

// replayedAttached returns the attached plugins of a recording.
func replayedAttached(data json.RawMessage, modules *Modules) ([]Attached, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var records []attachedRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, fmt.Errorf("the recorded attached plugins: %w", err)
	}
	var out []Attached
	for _, r := range records {
		x := Attached{Name: r.Name, NotReady: r.NotReady, Holds: r.Holds, Namespaces: r.Namespaces, Share: r.Share}
		if r.Module != nil {
			r.Module.Path = filepath.Join(modules.config.Dir, filepath.Base(r.Module.Path))
			m, err := modules.Load(*r.Module)
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
