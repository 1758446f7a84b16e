package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
)

// pluginsOf converts the state of modules to metrics.
func pluginsOf(s assembly.Status) (breakers []telemetry.Breaker, guests []telemetry.Guest) {
	for i := range s.Plugins {
		p := &s.Plugins[i]
		of := telemetry.PluginOf{Plugin: p.Name, Profile: p.Profile}
		breakers = append(breakers, telemetry.Breaker{
			PluginOf: of, Digest: p.Digest, Open: p.Breaker.State != breaker.Closed, Opened: p.Breaker.Opened, Namespaces: notCalledFor(&p.Breaker),
			Starts: map[string]int64{"first": p.Started.First, "lost": p.Started.Lost, "resized": p.Started.Resized},
		})
		for j := range p.Work {
			w := &p.Work[j]
			g := telemetry.Guest{PluginOf: of, Digest: p.Digest, Point: w.Point.String(), Fuel: w.Fuel, Faults: make(map[string]int64)}
			for _, f := range w.Faults {
				g.Faults[string(f.Kind)] = f.Count
			}
			guests = append(guests, g)
		}
	}
	return breakers, guests
}

// modulesOf returns the modules that run.
func modulesOf(s assembly.Status) (out []telemetry.Module) {
	for i := range s.Plugins {
		out = append(out, telemetry.Module{Plugin: s.Plugins[i].Name, Digest: s.Plugins[i].Digest})
	}
	return out
}

// notCalledFor returns the namespaces for which a breaker is not closed.
func notCalledFor(s *breaker.Status) (names []string) {
	for i := range s.Namespaces {
		names = append(names, s.Namespaces[i].Namespace)
	}
	return names
}

// refusedOf returns for each module of a folder whether it was refused.
func refusedOf(files []assembly.FolderStatus) map[string]bool {
	out := make(map[string]bool, len(files))
	for _, f := range files {
		out[f.Path] = f.Err != nil
	}
	return out
}

// maxRefusal is the longest text about a refused change, in bytes.
const maxRefusal = 8 << 10

// parts returns the states that events report: for each plugin from a module whether it is
// called, for each module of the folder whether it is used, what of the requests to the API server fails, and the optional parts.
func (w *watched) parts() []kube.Part {
	r := w.running.Load()
	if r == nil {
		return nil
	}
	var files []assembly.FolderStatus
	if r.folder != nil {
		files = r.folder.Status()
	}
	return slices.Concat(partsOf(r.assembly.Status(), files), r.cluster.FailingParts(), w.optional.parts())
}

func partsOf(s assembly.Status, files []assembly.FolderStatus) (out []kube.Part) {
	const calls, uses = "Calling", "Loading"
	for i := range s.Plugins {
		p := &s.Plugins[i]
		part := kube.Part{
			Name: "plugin " + p.Name + " of profile " + p.Profile, Cause: p.Digest, Failed: p.Breaker.State != breaker.Closed || len(p.Breaker.Namespaces) > 0, Times: p.Breaker.Opened,
			Failure: kube.Notice{Reason: "PluginBreakerOpened", Action: calls}, Recovery: kube.Notice{Reason: "PluginBreakerClosed", Action: calls},
		}
		if p.Shadow {
			part.Name += " (in shadow)"
		}
		part.Failure.Note = part.Name + " is temporarily not called" + p.Breaker.Whose() + ": " + p.Breaker.Cause
		if p.Breaker.LastFault != nil {
			part.Failure.Note += "; " + p.Breaker.LastFault.Error()
		}
		part.Recovery.Note = part.Name + " is called again and works"
		out = append(out, part)
	}
	for _, f := range files {
		part := kube.Part{
			Name: "module " + f.Path, Failed: f.Err != nil,
			Failure: kube.Notice{Reason: "ModuleRefused", Action: uses}, Recovery: kube.Notice{Reason: "ModuleAccepted", Action: uses},
		}
		part.Recovery.Note = part.Name + " runs as plugin " + f.Plugin + " (" + f.Digest + ")"
		if f.Err != nil {
			running := "no version of it runs"
			if f.Digest != "" {
				running = "its previous version " + f.Digest + " still runs"
			}
			part.Cause = f.Err.Error()
			part.Failure.Note = part.Name + " is not used, " + running + ": " + part.Cause
		}
		if f.Whole {
			part.Name = "plugin folder " + f.Path
			part.Failure.Note = part.Name + " cannot be read; its modules run as they were, and pods wait if it was not read since the start: " +
				part.Cause
		}
		out = append(out, part)
	}
	return out
}

// plugins returns the state of modules for berth plugin status.
func (w *watched) plugins(context.Context) (*debughttp.Plugins, error) {
	r := w.running.Load()
	if r == nil {
		return nil, errors.New("the scheduler has not started yet")
	}
	out := w.yanks.describe(r.assembly.Status(), r.folder)
	out.Feeds = describeFeeds(r.feeds)
	for _, of := range r.tenants.Progress() {
		line := debughttp.Rollout{Plugin: of.Plugin, Step: of.Step, Steps: of.Steps, Failed: of.Failed}
		for _, v := range of.Versions {
			line.Versions = append(line.Versions, debughttp.RolloutVersion{
				Version: v.Role.String(), Digest: v.Digest, Share: v.Share, Attempts: v.Attempts,
			})
		}
		out.Rollouts = append(out.Rollouts, line)
	}
	return out, nil
}

// describe returns the state of modules, with those of a folder, if there is one.
func (y *yanks) describe(s assembly.Status, folder *assembly.Folder) *debughttp.Plugins {
	out := &debughttp.Plugins{Plugins: []debughttp.Plugin{}, Reloads: s.Reloads, Refused: s.Refused}
	if s.Err != nil {
		out.Error = plain.Lines(s.Err.Error(), maxRefusal)
	}
	for i := range s.Plugins {
		p := &s.Plugins[i]
		line := debughttp.Plugin{
			Profile: p.Profile, Name: p.Name, Module: p.Module + " " + p.Version, Digest: p.Digest, Namespaces: p.Namespaces, Image: p.Image, Signers: p.Signers, NotKept: p.NotKept, Shadow: p.Shadow,
			Breaker: p.Breaker.State.String(), NotCalledFor: notCalledFor(&p.Breaker), Opened: p.Breaker.Opened, RetryAt: unlessZero(p.Breaker.RetryAt), FaultAt: unlessZero(p.Breaker.LastFaultAt),
			Instances: p.Instances, Memory: p.Memory, MemoryTotal: p.MemoryTotal, Starts: p.Breaker.Starts, StartsLimit: p.Breaker.StartsLimit,
		}
		if yank := y.of(p.Digest); yank != nil {
			line.Yanked = yank.String()
		}
		if p.Breaker.LastFault != nil {
			line.LastFault = p.Breaker.LastFault.Error()
		}
		for j := range p.Work {
			work := &p.Work[j]
			line.Calls += work.Calls
			line.Rows += work.Rows
			line.Fuel += work.Fuel
			for _, f := range work.Faults {
				if f.Kind.OfGuest() {
					line.Faults += f.Count
				}
			}
		}
		out.Plugins = append(out.Plugins, line)
	}
	for _, c := range s.CompiledIn {
		out.CompiledIn = append(out.CompiledIn, debughttp.CompiledIn{Profile: c.Profile, Name: c.Name, Points: c.Points})
	}
	if folder != nil {
		for _, f := range folder.Status() {
			entry := debughttp.FolderEntry{File: f.Path, Plugin: f.Plugin, Digest: f.Digest}
			if f.Err != nil {
				entry.Error = plain.Lines(f.Err.Error(), maxRefusal)
			}
			out.Folder = append(out.Folder, entry)
		}
	}
	return out
}

func unlessZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
