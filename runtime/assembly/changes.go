package assembly

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

// logChanges logs what a reload changed, plugin by plugin, with versions and digests.
func (a *Assembly) logChanges(ctx context.Context, old, next []*built) {
	if a.deps.Log == nil {
		return
	}
	for i, b := range next {
		before := old[i].plugins
		names := make(map[string]bool)
		for name := range b.plugins {
			names[name] = true
		}
		for name := range before {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			what, attrs := change(before[name], b.plugins[name])
			if what == "" {
				continue
			}
			attrs = append([]slog.Attr{slog.String("profile", b.profile.SchedulerName), slog.String("plugin", name)}, attrs...)
			a.deps.Log.LogAttrs(ctx, slog.LevelInfo, what, attrs...)
		}
	}
}

// change describes how a plugin has changed; empty if it has not. nil means that there is no
// such plugin.
func change(before, now *madePlugin) (what string, attrs []slog.Attr) {
	switch {
	case before == nil:
		return "plugin added", identity(now, "version", "digest")
	case now == nil:
		return "plugin removed", identity(before, "version", "digest")
	case before.plugin == now.plugin:
		return "", nil
	}
	was, is := before.module(), now.module()
	if was != nil && is != nil && was.Loaded.Digest == is.Loaded.Digest || was == nil && is == nil {
		return "plugin reconfigured", identity(now, "version", "digest")
	}
	return "plugin replaced", append(identity(now, "version", "digest"), identity(before, "oldVersion", "oldDigest")...)
}

// identity returns the version and digest of a plugin that is a module.
func identity(p *madePlugin, version, digest string) []slog.Attr {
	m := p.module()
	if m == nil {
		return nil
	}
	return []slog.Attr{slog.String(version, m.Loaded.Manifest.Version), slog.String(digest, m.Loaded.Digest)}
}

// module returns the module that the plugin was made from; nil for a native plugin.
func (m *madePlugin) module() *Module {
	module, _ := m.args.(*Module)
	return module
}
