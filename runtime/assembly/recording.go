package assembly

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// recorded returns the configuration in the form in which a recording has it, and its modules: each
// is a file that is named by its digest. The file has no connections and no keys.
func recorded(s *config.Scheduler) (file string, modules []inbox.Module, err error) {
	own := *s
	own.Profiles = slices.Clone(s.Profiles)
	for i := range own.Profiles {
		p := &own.Profiles[i]
		p.Args = maps.Clone(p.Args)
		for _, name := range slices.Sorted(maps.Keys(p.Args)) {
			args := p.Args[name]
			m := moduleOf(args)
			if m == nil {
				continue
			}
			one := recordedModule(m.Loaded)
			if !slices.ContainsFunc(modules, func(known inbox.Module) bool { return known.File == one.File }) {
				modules = append(modules, one)
			}
			reference := m.Reference
			reference.Path, reference.URL, reference.Image = one.File, "", ""
			args.Module = &Module{Loaded: m.Loaded, Reference: reference}
			p.Args[name] = args
		}
	}
	versioned, err := own.Redacted()
	if err != nil {
		return "", nil, err
	}
	none := configv1.KubeSchedulerConfiguration{}
	versioned.ClientConnection, versioned.LeaderElection = none.ClientConnection, none.LeaderElection
	for i := range versioned.Extenders {
		versioned.Extenders[i].TLSConfig = nil
	}
	data, err := json.Marshal(versioned)
	return string(data), modules, err
}

// recordedModule returns a module as a file that is named by its digest.
func recordedModule(m *module.Loaded) inbox.Module {
	return inbox.Module{File: recordedFile(m.Digest), Digest: m.Digest, Bytes: m.Bytes}
}

func recordedFile(digest string) string { return strings.TrimPrefix(digest, "sha256:") + ".wasm" }

// annotations returns the keys of annotations that plugins read, and the prefixes, which end with an
// asterisk, of those that they may write.
func annotations(all []*built) []string {
	keys := make(map[string]bool)
	for _, b := range all {
		for _, p := range b.plugins {
			for _, read := range p.plugin.Info().Reads {
				switch read.Column {
				case abi.NodeAnnotations, abi.PodAnnotations, abi.IncomingAnnotations:
				default:
					continue
				}
				if read.Args == nil {
					keys["*"] = true
				}
				for _, key := range read.Args {
					keys[key] = true
				}
			}
			if m, ok := p.args.(*Module); ok {
				for _, prefix := range m.Loaded.Grants.Annotations {
					keys[prefix+"*"] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// unrecorded refuses plugins that read what a recording does not have. Native plugins read nothing of
// that kind, but for annotations. recording may be nil.
func unrecorded(all []*built, recording *inbox.Settings) error {
	if recording == nil {
		return nil
	}
	var errs []error
	said := make(map[string]bool) // several profiles may have a plugin, and it may read a key of new pods and of others
	refuse := func(format string, args ...any) {
		if err := fmt.Errorf(format, args...); !said[err.Error()] {
			said[err.Error()] = true
			errs = append(errs, err)
		}
	}
	for _, b := range all {
		for _, name := range slices.Sorted(maps.Keys(b.plugins)) {
			p := b.plugins[name]
			for _, read := range p.plugin.Info().Reads {
				of := "pods"
				switch read.Column {
				case abi.NodeFeed:
					if err := undeclared(read.Args, recording.Feeds); err != nil {
						refuse("plugin %s %w, and the recording has what was declared", name, err)
					}
					continue
				case abi.NodeAnnotations:
					of = "nodes"
				case abi.PodAnnotations, abi.IncomingAnnotations:
				default:
					continue
				}
				if read.Args == nil && !slices.Contains(recording.Annotations, "*") {
					refuse("plugin %s reads metadata.annotations of %s, which the recording does not have: record with --record-reads '*'", name, of)
				}
				for _, key := range read.Args {
					if !slices.ContainsFunc(recording.Annotations, func(kept string) bool { return inbox.Keeps(kept, key) }) {
						refuse("plugin %s reads metadata.annotations[%s] of %s, which the recording does not have: record with --record-reads %s",
							name, key, of, key)
					}
				}
			}
			if m, ok := p.args.(*Module); ok {
				for _, view := range m.Loaded.Manifest.ObjectViews() {
					if !slices.Contains(recording.Feeds, view.Key()) {
						refuse("plugin %s reads objects of which the recording does not have what it reads (%s)", name, view.Key())
					}
				}
				if err := undeclared(m.Loaded.Manifest.Reads.Feeds, append([]string{}, recording.Feeds...)); err != nil {
					refuse("plugin %s reads what the recording does not have: %w", name, err)
				}
				if whole := readsWhole(m); whole != "" {
					refuse("plugin %s reads whole objects (%s), but the recording has no env, command, probes and managedFields of theirs: "+
						"let it read columns instead", name, whole)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// readsWhole returns the host function by which a module reads whole objects; empty for none.
func readsWhole(m *Module) string {
	for _, imported := range m.Loaded.Manifest.Host {
		if imported == abi.HostPodObject || imported == abi.HostNodeObject {
			return imported
		}
	}
	return ""
}

// lacks says why a recording would not give the same decisions again; empty if it does.
func (a *Assembly) lacks(all []*built) string {
	if a.config.compiles() {
		return "plugins are compiled into the program"
	}
	for _, b := range all {
		for _, name := range slices.Sorted(maps.Keys(b.plugins)) {
			m, ok := b.plugins[name].args.(*Module)
			if !ok {
				continue
			}
			if whole := readsWhole(m); whole != "" {
				return fmt.Sprintf("plugin %s reads whole pods or nodes (%s), which are not recorded", name, whole)
			}
		}
	}
	return ""
}

// begin gives the recorder, if there is one, the scheduler's settings.
func (a *Assembly) begin(s *config.Scheduler, all []*built) error {
	if a.deps.Recorder == nil {
		return nil
	}
	file, modules, err := recorded(s)
	if err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	data, more, err := recordedAttached(s, &a.mu.attached)
	if err != nil {
		return fmt.Errorf("record the attached plugins: %w", err)
	}
	modules = append(modules, more...)
	c := &a.config
	a.deps.Recorder.Enter(&inbox.Settings{
		Start: a.clock.Now(), Seed: c.Seed, TieBreak: c.TieBreak.String(), Candidates: uint64(c.Candidates),
		AllowUnenforced: strings.Join(c.AllowUnenforced.Names(), ","), MaxUnschedulable: c.MaxUnschedulable, IgnoreBindVerbs: c.IgnoreBindVerbs, Ranked: c.Rank != nil,
		ReuseBytes: uint64(c.Reuse.Bytes), ReusePerNode: uint64(c.Reuse.PerNode),
		Config: file, Annotations: slices.Concat(annotations(all), c.RecordReads), Attached: data, Lacks: a.lacks(all),
		Kubernetes: cmp.Or(c.Kubernetes, hostplugins.Release), Gates: c.Gates.String(),
		NamespaceBudget: !c.NoNamespaceBudget, Lanes: !c.OneLane, Feeds: recordedFeeds(c.Feeds, all),
	})
	a.enter(modules)
	return nil
}

// enter gives the recorder modules, each once.
func (a *Assembly) enter(modules []inbox.Module) {
	for i := range modules {
		if !slices.ContainsFunc(modules[:i], func(m inbox.Module) bool { return m.File == modules[i].File }) {
			a.deps.Recorder.Enter(&modules[i])
		}
	}
}

// swapped tells the recorder, if there is one, of the modules of a configuration that replaces the
// current one, and returns the event.
func (a *Assembly) swapped(s *config.Scheduler, next []*built, with *attached) (inbox.Swap, error) {
	if a.deps.Recorder == nil {
		return inbox.Swap{}, nil
	}
	own := *a.config.Scheduler // no other setting changes
	own.Profiles, own.PercentageOfNodesToScore = s.Profiles, s.PercentageOfNodesToScore
	file, modules, err := recorded(&own)
	if err != nil {
		return inbox.Swap{}, fmt.Errorf("record the configuration: %w", err)
	}
	data, more, err := recordedAttached(&own, with)
	if err != nil {
		return inbox.Swap{}, fmt.Errorf("record the attached plugins: %w", err)
	}
	a.enter(append(modules, more...))
	return inbox.Swap{Config: file, Annotations: slices.Concat(annotations(next), a.config.RecordReads), Attached: data, Lacks: a.lacks(next)}, nil
}

// rank returns Config.Rank. A recorder is told the ranks, if they do not follow from the seed.
func (a *Assembly) rank() func(node string) uint64 {
	rank, recorder := a.config.Rank, a.deps.Recorder
	if rank == nil {
		return func(node string) uint64 { return mix(a.config.Seed, node) }
	}
	if recorder == nil {
		return rank
	}
	return func(node string) uint64 {
		r := rank(node)
		recorder.Enter(&inbox.Rank{Node: node, Rank: r})
		return r
	}
}

// Replayed returns the part of a configuration that is in a recording's settings.
//
// # Errors
//
// The settings are not those of a recording that this program can replay.
func Replayed(s *inbox.Settings, modules *Modules) (Config, error) {
	release := cmp.Or(s.Kubernetes, hostplugins.OldestRelease)
	if release < hostplugins.OldestRelease || release > hostplugins.Release {
		return Config{}, fmt.Errorf("the plugins of the recording are those of Kubernetes 1.%d, and this berth has those of 1.%d to 1.%d: use the berth that wrote it",
			release, hostplugins.OldestRelease, hostplugins.Release)
	}
	catalog := Catalog()
	catalog.NoStorageScores = release < hostplugins.Release
	file, _, err := config.Parse([]byte(s.Config), "the recorded configuration", catalog)
	if err == nil {
		err = modules.resolve(file, modules.loadRecorded)
	}
	if err != nil {
		return Config{}, err
	}
	for i := range file.Extenders { // they are not called
		file.Extenders[i].TLSConfig, file.Extenders[i].EnableHTTPS = nil, false
	}
	c := Config{
		Scheduler: file, Modules: modules, Seed: s.Seed, Candidates: int(s.Candidates), MaxUnschedulable: s.MaxUnschedulable, IgnoreBindVerbs: s.IgnoreBindVerbs,
		Reuse: equivalence.Config{Bytes: int64(s.ReuseBytes), PerNode: int64(s.ReusePerNode)}, Kubernetes: release, OneHash: s.Kubernetes == 0,
		NoNamespaceBudget: !s.NamespaceBudget, OneLane: !s.Lanes,
	}
	if c.Attached, err = replayedAttached(file, s.Attached, modules); err != nil {
		return Config{}, err
	}
	if c.TieBreak, err = cycle.ParseTieBreak(s.TieBreak); err != nil {
		return Config{}, err
	}
	if s.Gates != "" {
		if c.Gates, _, err = config.ParseGates(strings.Split(s.Gates, ",")); err != nil {
			return Config{}, err
		}
	}
	for name := range strings.SplitSeq(s.AllowUnenforced, ",") {
		f, ok := state.ParseFeature(name)
		if !ok && name != "" {
			return Config{}, fmt.Errorf("feature %q is unknown", name)
		}
		c.AllowUnenforced |= f
	}
	return c, nil
}

// recordedFeeds are the feeds of which a recording has what they say: those that were declared, and the views of objects.
func recordedFeeds(declared []string, all []*built) []string {
	for _, view := range viewsOf(all) {
		declared = append(slices.Clip(declared), view.Key())
	}
	return declared
}
