package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/module"
)

// usedFiles returns the plugins of a folder whose modules the index has.
func (o *installOptions) usedFiles(f *index.File) ([]use, error) {
	entries, err := module.ReadFolder(o.pluginDir)
	if err != nil {
		return nil, fmt.Errorf("--plugin-dir: %w", err)
	}
	var out []use
	for i := range entries {
		e := &entries[i]
		l, err := module.Read(e.Path)
		if err != nil || e.Err != nil {
			continue // berth config check says what is wrong with it
		}
		if x, v := f.Digest(l.Digest, ""); x != nil {
			l.Grants = e.Reference.Grants
			if e.Reference.Name != "" {
				l.Name = e.Reference.Name
			}
			out = append(out, use{plugin: x, version: v.Version, listed: v, locked: l.Locked(&e.Reference), entry: e})
		}
	}
	return out, nil
}

// upgradeFiles replaces modules of the folder.
func (o *installOptions) upgradeFiles(ctx context.Context, targets []upgrade) (*proposal, error) {
	modules, err := o.modules.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	out := &proposal{}
	for i := range targets {
		if err := targets[i].replace(modules, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// replace adds to a proposal what replaces a module of a folder. The new module comes
// after what is beside it, and the old one starts with that as well.
func (u *upgrade) replace(modules *assembly.Modules, out *proposal) error {
	e, path := u.entry, u.entry.Path
	if was, err := modules.Load(e.Reference); err == nil {
		u.locked.Signers, u.locked.Image = was.Loaded.Signers, was.Loaded.Image
	} // otherwise the policy refuses it now, or it never ran
	ref := e.Reference
	ref.Path, ref.Folder, ref.Image, ref.Digest = "", false, source(u.plugin, u.to), ""
	ref.Grants = union(&u.locked.Grants, &u.to.Grants.ManifestDirectives)
	m, err := modules.Load(ref)
	if err != nil {
		return err
	}
	if err := isListed(u.plugin, u.to, m.Loaded); err != nil {
		return err
	}
	now := m.Loaded.Locked(&e.Reference)
	before := &lock.File{Plugins: []lock.Plugin{u.locked}}
	out.changes = append(out.changes, lock.Changes(before, []lock.Plugin{now})...)
	out.steps = append(out.steps, step{module.OriginFile(path, m.Loaded.Digest), m.Loaded.Origin})
	if missing := u.to.Grants.Missing(&u.locked.Grants); !missing.Empty() {
		beside, err := grantBeside(path, &ref)
		if err != nil {
			return err
		}
		out.steps = append(out.steps, *beside)
	}
	out.steps = append(out.steps, step{path, m.Loaded.Bytes}, step{module.OriginFile(path, u.locked.Module), nil})
	return nil
}

// grantBeside writes the grants into the file beside a module.
func grantBeside(path string, ref *module.Reference) (*step, error) {
	file := strings.TrimSuffix(path, ".wasm") + ".yaml"
	text, err := bounded.Regular(file, bounded.Settings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	grants, err := asFields(ref.Grants)
	if err != nil {
		return nil, err
	}
	out, err := config.SetFields(text, map[string]any{"grants": grants})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &step{file, out}, nil
}
