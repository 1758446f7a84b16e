package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// FolderConfig is a folder whose modules become plugins of every profile.
type FolderConfig struct {
	Dir string
	// Settle is how long a file must be unchanged before it is read; 0 means 200 ms. Other files
	// delay it at most ten times as long.
	Settle time.Duration
}

// FolderStatus is the state of one module in a folder.
type FolderStatus struct {
	// Path is the module's file.
	Path string
	// Plugin is the name in profiles of the running module, Version the version in its manifest,
	// and Digest the digest of its bytes. They are empty if no version of the file runs.
	Plugin, Version, Digest string
	// Err says why the file's current contents do not run; nil if they do.
	Err error
	// Whole tells that Path is the folder itself, which cannot be read. Its modules run as they were read last. If they were not
	// read since the start, all pods wait.
	Whole bool
}

// Folder makes the modules of a folder plugins of a scheduler, and follows changes. A module
// that cannot be used leaves its last good version running.
type Folder struct {
	config   FolderConfig
	assembly *Assembly
	base     *config.Scheduler // without the folder's modules
	log      *slog.Logger
	done     chan struct{}

	// mu is held while modules are compiled.
	mu struct {
		sync.Mutex
		running []running // sorted by path
		read    bool      // at least once
	}
	// told guards what Status returns, so that Status does not wait while modules are compiled.
	told struct {
		sync.Mutex
		status []FolderStatus
	}
}

// running is a module that runs.
type running struct {
	path   string
	module *Module
}

// Watch adds the modules of a folder to the scheduler, and follows the folder until the context
// ends. It returns once each module runs or Status says why not. While the folder cannot be read, and has not been read before, all
// pods are held.
//
// # Errors
//
// Files cannot be watched here, or the pods cannot be held.
func (a *Assembly) Watch(ctx context.Context, c FolderConfig) (*Folder, error) {
	if c.Settle == 0 {
		c.Settle = 200 * time.Millisecond
	}
	changed, err := module.Watch(ctx, c.Dir, c.Settle)
	if err != nil {
		return nil, err
	}
	f, err := a.ReadFolder(ctx, c)
	if f == nil {
		return nil, err
	}
	if err != nil {
		if err := f.unread(ctx, err); err != nil {
			return nil, err
		}
	}
	go func() {
		defer close(f.done)
		for change := range changed {
			_ = plugin.Guard(plugin.InConversion, "the plugins of folder "+c.Dir, a.Panicked, func() {
				err := f.sync(ctx, change)
				if err != nil && ctx.Err() == nil {
					err = f.unread(ctx, err)
				}
				if err != nil && ctx.Err() == nil {
					f.log.Error("the pods of a plugin folder cannot be held", "dir", c.Dir, "error", err)
				}
			})
		}
	}()
	return f, nil
}

// ReadFolder adds the modules of a folder to the scheduler as Watch does, but does not follow
// the folder: Done is never closed.
//
// # Errors
//
// The folder cannot be read.
func (a *Assembly) ReadFolder(ctx context.Context, c FolderConfig) (*Folder, error) {
	if a.config.Modules == nil {
		return nil, errors.New("assembly: a folder of modules needs Config.Modules")
	}
	a.mu.Lock()
	base := a.mu.base
	a.mu.Unlock()
	f := &Folder{config: c, assembly: a, base: base, log: a.deps.Log, done: make(chan struct{})}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	return f, f.Sync(ctx)
}

// Done is closed when the folder is no longer followed.
func (f *Folder) Done() <-chan struct{} { return f.done }

// Status returns the state of each module, sorted by path.
func (f *Folder) Status() []FolderStatus {
	f.told.Lock()
	defer f.told.Unlock()
	return slices.Clone(f.told.status)
}

// Sync updates the plugins to the current contents of the folder.
//
// # Errors
//
// The folder cannot be read; its plugins are unchanged.
func (f *Folder) Sync(ctx context.Context) error { return f.sync(ctx, module.Change{}) }

// sync leaves plugins unchanged whose files are still being written.
func (f *Folder) sync(ctx context.Context, change module.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, err := module.ReadFolder(f.config.Dir)
	if err != nil {
		return err
	}
	f.mu.read = true
	f.assembly.holdAll("")
	errs := make(map[string]error)
	var wanted []running
	room := f.assembly.process.Total()
	for i := range entries {
		e := &entries[i]
		if size := e.Size(); size > room && e.Err == nil {
			e.Err = fmt.Errorf("%s: the modules of the folder have more bytes than all plugins may have memory: "+
				"raise --plugin-memory, or remove some", e.Path)
		} else {
			room -= size
		}
		if !change.Complete(e) {
			e.Err = fmt.Errorf("%s: the file is still being written; it is used once it has not changed for %v", e.Path, f.config.Settle)
		}
		m, err := f.load(e)
		if err != nil {
			errs[e.Path] = err
			m = f.last(e.Path)
		}
		if m != nil {
			wanted = append(wanted, running{path: e.Path, module: m})
		}
	}
	for i := range f.mu.running { // it is being replaced, and absent for a moment
		r := &f.mu.running[i]
		gone := !slices.ContainsFunc(entries, func(e module.Entry) bool { return e.Path == r.path })
		if gone && !change.Complete(&module.Entry{Path: r.path}) {
			wanted = append(wanted, *r)
		}
	}
	slices.SortFunc(wanted, func(a, b running) int { return cmp.Compare(a.path, b.path) })
	if err := f.apply(ctx, wanted); err != nil {
		f.oneByOne(ctx, wanted, errs)
	}
	f.tell(entries, errs)
	return nil
}

// unread records that the folder cannot be read, and logs it once. All pods are held, unless the folder was read before.
func (f *Folder) unread(ctx context.Context, why error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	why = plain.Error(why, maxRefusal)
	status := slices.DeleteFunc(f.Status(), func(s FolderStatus) bool { return s.Whole })
	known := slices.ContainsFunc(f.Status(), func(s FolderStatus) bool { return s.Whole && errText(s.Err) == errText(why) })
	f.told.Lock()
	f.told.status = append([]FolderStatus{{Path: f.config.Dir, Err: why, Whole: true}}, status...)
	f.told.Unlock()
	if known {
		return nil
	}
	if f.mu.read {
		f.log.Error("the plugin folder cannot be read; its modules run as they were", "dir", f.config.Dir, "error", why)
		return nil
	}
	f.log.Error("the plugin folder cannot be read, so that all pods wait; it is tried again", "dir", f.config.Dir, "error", why)
	f.assembly.holdAll(errText(why))
	_, err := f.assembly.Reload(ctx, f.base)
	return err
}

// holdAll says why the plugin folder has not been read since the start. It counts from the next reload on.
func (a *Assembly) holdAll(why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.noFolder = why
}

func (f *Folder) load(e *module.Entry) (*Module, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	return f.assembly.config.Modules.Load(e.Reference)
}

// last returns the running module of a file; nil if there is none.
func (f *Folder) last(path string) *Module {
	for i := range f.mu.running {
		if f.mu.running[i].path == path {
			return f.mu.running[i].module
		}
	}
	return nil
}

// apply runs modules, all or none.
func (f *Folder) apply(ctx context.Context, all []running) error {
	s := clone(f.base)
	for i := range all {
		if err := all[i].module.Enable(s); err != nil {
			return err
		}
	}
	if _, err := f.assembly.Reload(ctx, s); err != nil {
		return err
	}
	f.mu.running = slices.Clone(all)
	return nil
}

// oneByOne makes each change separately, so that one that fails does not block the others:
// first removals, then additions and changes, in the order of paths.
func (f *Folder) oneByOne(ctx context.Context, wanted []running, errs map[string]error) {
	kept := slices.DeleteFunc(slices.Clone(f.mu.running), func(r running) bool {
		return !slices.ContainsFunc(wanted, func(w running) bool { return w.path == r.path })
	})
	if err := f.apply(ctx, kept); err != nil {
		f.log.Error("plugin folder", "dir", f.config.Dir, "error", err)
		return
	}
	for _, w := range wanted {
		if last := f.last(w.path); last != nil && last.same(w.module) {
			continue
		}
		next := slices.DeleteFunc(slices.Clone(f.mu.running), func(r running) bool { return r.path == w.path })
		next = append(next, w)
		slices.SortFunc(next, func(a, b running) int { return cmp.Compare(a.path, b.path) })
		if err := f.apply(ctx, next); err != nil {
			errs[w.path] = err
		}
	}
}

// maxRefusal is the maximum size of FolderStatus.Err, in bytes.
const maxRefusal = 8 << 10

// tell updates the status and logs what is new in it.
func (f *Folder) tell(entries []module.Entry, errs map[string]error) {
	before := f.Status()
	var status []FolderStatus
	for i := range entries {
		s := FolderStatus{Path: entries[i].Path, Err: plain.Error(errs[entries[i].Path], maxRefusal)}
		if m := f.last(s.Path); m != nil {
			s.Plugin, s.Version, s.Digest = m.Loaded.Name, m.Loaded.Manifest.Version, m.Loaded.Digest
		}
		status = append(status, s)
		at := slices.IndexFunc(before, func(b FolderStatus) bool { return b.Path == s.Path })
		known := at >= 0 && before[at].Digest == s.Digest && errText(before[at].Err) == errText(s.Err)
		switch {
		case known:
		case s.Err != nil:
			f.log.Error("plugin module not used", "file", s.Path, "error", s.Err, "running", s.Digest)
		default:
			f.log.Info("plugin module running", "file", s.Path, "plugin", s.Plugin, "version", s.Version, "digest", s.Digest)
		}
	}
	f.told.Lock()
	defer f.told.Unlock()
	f.told.status = status
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// clone returns a copy of a configuration whose profiles can be extended.
func clone(s *config.Scheduler) *config.Scheduler {
	out := *s
	out.Profiles = slices.Clone(s.Profiles)
	for i := range out.Profiles {
		p := &out.Profiles[i]
		p.Args = maps.Clone(p.Args)
		points := make(map[string][]config.PluginRef, len(p.Points))
		for point, refs := range p.Points {
			points[point] = slices.Clone(refs)
		}
		p.Points = points
	}
	return &out
}
