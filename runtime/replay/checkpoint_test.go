package replay_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
)

// again is a recorder that has one checkpoint written.
type again struct {
	t            *testing.T
	begun, ended bool
	lines        []string
}

func (a *again) Full() bool { return !a.begun }
func (a *again) Begin()     { a.begun = true }

func (a *again) Enter(e inbox.Event) {
	if _, step := e.(*inbox.Step); step {
		a.ended = true
	}
	if !a.begun || a.ended {
		return
	}
	line, err := inbox.Format(e)
	if err != nil {
		a.t.Error(err)
	}
	a.lines = append(a.lines, line)
}

// checkpointOf divides a segment's lines into its settings, modules and checkpoint.
func checkpointOf(text string) (settings string, modules, checkpoint []string) {
	for _, line := range strings.Split(text, "\n") {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "#":
		case "settings":
			settings = line
		case "module":
			modules = append(modules, line)
		case "step", "end": // before a step the clock may have been read
			if n := len(checkpoint); n > 1 && strings.HasPrefix(checkpoint[n-1], "clock ") {
				checkpoint = checkpoint[:n-1]
			}
			return settings, modules, checkpoint
		default:
			checkpoint = append(checkpoint, line)
		}
	}
	return settings, modules, checkpoint
}

// carriesOn checks that a scheduler that was restored from a segment's checkpoint writes the same one.
func (w *world) carriesOn(t *testing.T, text string) {
	t.Helper()
	settings, written, checkpoint := checkpointOf(text)
	modules := assembly.NewModules(assembly.ModulesConfig{Recorded: t.TempDir(), Memory: 64 << 30})
	defer func() { _ = modules.Close(t.Context()) }()
	for _, line := range written {
		if err := modules.AddRecorded(parsed(t, line).(*inbox.Module)); err != nil {
			t.Fatal(err)
		}
	}
	given := parsed(t, settings).(*inbox.Settings)
	c, err := assembly.Replayed(given, modules)
	if err != nil {
		t.Fatal(err)
	}
	if c.NoNamespaceBudget {
		t.Fatal("the settings have no budget of namespaces")
	}
	now, kept, recorder := clock.NewStep(given.Start), stores.New(), &again{t: t}
	a, err := assembly.New(c, assembly.Deps{
		Clock: now, Binder: w, Outlet: w, Recorder: recorder, Objects: kept, Budgets: kept.Budgets,
		Storage: hostplugins.Storage{Objects: kept.Storage.Objects()}, Devices: hostplugins.NewDevices(kept.Storage.Devices(), w, w),
		Services: kept.Owners, Controllers: kept.Owners, Spawn: func(func()) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, line := range checkpoint {
		e := parsed(t, line)
		if e, ok := e.(*inbox.Clock); ok {
			now.Set(e.At)
		}
		a.Scheduler.Handle(t.Context(), e)
	}
	a.Scheduler.Step(t.Context())
	for i, line := range checkpoint {
		if i >= len(recorder.lines) || recorder.lines[i] != line {
			t.Fatalf("line %d of the checkpoint is\n%s\nwant\n%s", i, strings.Join(recorder.lines[min(i, len(recorder.lines)):min(i+1, len(recorder.lines))], ""), line)
		}
	}
	if len(recorder.lines) != len(checkpoint) {
		t.Fatalf("%d lines, want %d", len(recorder.lines), len(checkpoint))
	}
}

func parsed(t *testing.T, line string) inbox.Event {
	t.Helper()
	e, err := inbox.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
