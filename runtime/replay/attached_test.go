package replay_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/replay"
)

// TestAttached: plugins that objects attach decide about the pods of their namespace. They are there from the start,
// are replaced, and go, and one that cannot run holds its pods.
func TestAttached(t *testing.T) {
	guest := func(abi, filter string) []byte {
		return wat.Compile(t, `(module
			(memory (export "memory") 40)
			(func (export "berth_abi") (result i32) `+abi+`)
			(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
			(func (export "berth_filter") (param i32 i32 i32) (result i32) `+filter+`))`,
			`{"name": "tiny", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["generation"]}}`)
	}
	const abi = "(i32.const 0x10000)"
	const no = `(memory.fill (i32.load offset=24 (local.get 0)) (i32.const 2) (i32.load offset=20 (local.get 0))) (i32.const 0)`
	modules := assembly.NewModules(assembly.ModulesConfig{})
	t.Cleanup(func() { _ = modules.Close(context.Background()) })
	attached := func(namespace string, wasm []byte) assembly.Attached {
		name := namespace + "/tiny"
		m := loaded(t, modules, wasm, module.Reference{Name: name, Namespaces: []string{namespace}, Tenant: namespace, HideSeed: true, HideGeneration: true})
		return assembly.Attached{Name: name, Module: m, Holds: true, Namespaces: []string{namespace}}
	}
	rejects, cannot := attached("a", guest(abi, no)), attached("b", guest("unreachable", no))
	r := startRecorded(t, assembly.Config{Scheduler: assembly.Default(), Modules: modules, Attached: []assembly.Attached{rejects}}, 5)
	r.place("a", 2)
	r.place("b", 2)
	attach := func(all ...assembly.Attached) {
		t.Helper()
		if _, err := r.Attach(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	waits := assembly.Attached{Name: "c/later", NotReady: "Compiling", Holds: true, Namespaces: []string{"c"}}
	attach(cannot, waits, attached("a", guest(abi, "(i32.const 0)")))
	for _, namespace := range []string{"a", "b", "c", "d"} {
		r.place(namespace, 2)
	}
	attach(waits)
	r.place("a", 1)
	attach()
	r.place("c", 1)
	recorded := r.text()
	decisions := strings.Count(recorded, "\ndecision ")
	if n := strings.Count(recorded, " attached="); n != 3 || decisions < 10 || !strings.Contains(recorded, `"notReady":"Compiling"`) || !strings.Contains(recorded, `"notReady":"NotRunnable"`) {
		t.Errorf("%d times plugins are recorded as attached, %d decisions", n, decisions)
	}
	reader, err := record.NewReader(strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	scarce := assembly.NewModules(assembly.ModulesConfig{Recorded: t.TempDir(), Memory: 1 << 20})
	t.Cleanup(func() { _ = scarce.Close(context.Background()) })
	_, err = replay.Run(t.Context(), reader, replay.Config{Modules: scarce})
	if err == nil || !strings.Contains(err.Error(), "the recorded plugin a/tiny does not run here: ") {
		t.Errorf("with little memory: %v", err)
	}
	repeats(t, recorded, decisions, func(line string) string {
		before, after, found := strings.Cut(line, " attached=")
		if !found {
			return line
		}
		_, after, _ = strings.Cut(after, "]`")
		return before + after
	})
}

// TestNotReplayable: what may depend on anything is not repeated, and the settings say why.
func TestNotReplayable(t *testing.T) {
	whole := startWith(t, wat.Compile(t, `(module
		(import "berth" "pod_object" (func (param i32 i32 i32) (result i32)))
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))`,
		`{"name": "whole", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["generation"]}, "host": ["pod_object"]}`),
		module.Limits{}, 1)
	compiled := startRecorded(t, assembly.Config{Scheduler: assembly.Default(), Plugins: plugin.Registry{
		"Own": func(any) (plugin.Plugin, error) { return nil, errors.New("no profile names it") },
	}}, 1)
	for want, r := range map[string]*recordedRun{
		"plugin whole reads whole pods or nodes (pod_object), which are not recorded": whole,
		"plugins are compiled into the program":                                       compiled,
	} {
		r.place("ns", 1)
		if _, err := run(t.Context(), t, r.text(), replay.Config{Workers: 1}); err == nil || err.Error() != "the recording cannot be replayed: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
