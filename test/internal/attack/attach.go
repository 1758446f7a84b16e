package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// attach puts the plugins of attacks into the folder, and waits until the scheduler has processed them. It
// reports of which attacks a plugin is loaded.
func (r *attempts) attach(ctx context.Context, attacks []Attack) (loaded []bool, err error) {
	r.plugins = map[string]int{}
	for k := range attacks {
		for i := range attacks[k].Plugins {
			if err := r.attachPlugin(&attacks[k], i, k); err != nil {
				return nil, err
			}
		}
	}
	running, err := r.await(ctx)
	loaded = make([]bool, len(attacks))
	for name := range running {
		loaded[r.plugins[name]] = true
	}
	return loaded, err
}

// attachPlugin puts the i-th plugin of an attack into the folder, unless nobody could configure it.
func (r *attempts) attachPlugin(a *Attack, i, k int) error {
	r.attached++ // a name is not used again: the scheduler may still report on the plugin that had it
	name := fmt.Sprint("hostile-", r.attached)
	settings := map[string]any{"name": name, "namespaces": []string{attacked(k)}}
	if a.Grants != nil {
		settings["grants"] = a.Grants
	}
	if file := a.config(i); file != "" {
		config, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !json.Valid(config) {
			return nil
		}
		settings["config"] = json.RawMessage(config)
	}
	data, err := json.Marshal(settings) // which is YAML
	if err != nil {
		return err
	}
	r.plugins[name] = k
	if err := os.WriteFile(filepath.Join(r.dir, name+".yaml"), data, 0o644); err != nil {
		return err
	}
	return os.Link(a.Modules()[i], filepath.Join(r.dir, name+".wasm"))
}

// detach removes all hostile plugins.
func (r *attempts) detach(ctx context.Context) error {
	for name := range r.plugins {
		for _, ending := range []string{".wasm", ".yaml"} {
			if err := os.Remove(filepath.Join(r.dir, name+ending)); err != nil {
				return err
			}
		}
	}
	r.plugins = nil
	running, err := r.await(ctx)
	if len(running) > 0 {
		return errors.New("a hostile plugin runs without a file")
	}
	return err
}

// await waits until each hostile plugin in the folder runs or is refused, and no other one runs. It returns
// those that run.
func (r *attempts) await(ctx context.Context) (running map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		var status debughttp.Plugins
		if err := r.ask(debughttp.PluginsPath, &status); err != nil && !r.process.Running() {
			return nil, fmt.Errorf("the scheduler ended: %w\n%s", err, r.process.Tail(10))
		} // it may not serve yet
		seen, old := map[string]bool{}, false
		for _, f := range status.Folder {
			name := filepath.Base(f.File)
			if name = name[:len(name)-len(filepath.Ext(name))]; f.Error != "" {
				if _, ok := r.plugins[name]; ok {
					seen[name] = true
				}
			}
		}
		running = map[string]bool{}
		for _, p := range status.Plugins {
			if !strings.HasPrefix(p.Name, "hostile-") {
				continue
			}
			_, ok := r.plugins[p.Name]
			old = old || !ok
			running[p.Name], seen[p.Name] = true, true
		}
		if len(seen) == len(r.plugins) && !old && status.Plugins != nil {
			return running, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the folder has %v, want %d hostile plugins: %w\n%s", slices.Collect(maps.Keys(seen)), len(r.plugins), ctx.Err(), r.process.Tail(10))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// faults returns the number of faults of the hostile plugins since they were loaded.
func (r *attempts) faults() (n int64, err error) {
	var status debughttp.Plugins
	if err := r.ask(debughttp.PluginsPath, &status); err != nil {
		return 0, err
	}
	for _, p := range status.Plugins {
		if strings.HasPrefix(p.Name, "hostile-") {
			n += p.Faults
		}
	}
	return n, nil
}
