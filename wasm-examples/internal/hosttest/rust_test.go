//go:build !wasip1

package hosttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// rustExamples returns the examples that exist in Rust, too.
func rustExamples() []wasmexamples.Example {
	csr, dense := wasmexamples.Reference()
	all := append(wasmexamples.All(), wasmexamples.EveryPoint(), csr, dense)
	return slices.DeleteFunc(all, func(e wasmexamples.Example) bool { return e.Rust == "" })
}

// rustFile returns the file of an example's module in Rust, as cargo makes it.
func rustFile(t testing.TB, e *wasmexamples.Example) string {
	t.Helper()
	if e.Rust == "" {
		t.Skipf("%s does not exist in Rust", e.Name)
	}
	toolchain := cargotest.Toolchain(t)
	built.mu.Lock()
	defer built.mu.Unlock()
	if path, ok := built.files[inRust(e)]; ok {
		return path
	}
	crate := filepath.Join("..", "..", filepath.FromSlash(e.Rust))
	data, err := toolchain.Build(context.Background(), crate, filepath.Join(built.dir, "cargo"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(built.dir, inRust(e)+".wasm")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	built.files[inRust(e)] = path
	return path
}

// inRust is the name under which a module in Rust is kept.
func inRust(e *wasmexamples.Example) string { return e.Name + "-in-rust" }

// rustModule returns an example's module in Rust as a factory.
func rustModule(t testing.TB, e *wasmexamples.Example) wasm.Factory {
	t.Helper()
	return load(t, inRust(e), rustFile(t, e))
}

// TestRustModules: what cargo makes is a module that keeps the ABI, carries the very
// manifest of its Go twin once, and is small.
func TestRustModules(t *testing.T) {
	for _, e := range rustExamples() {
		data, err := os.ReadFile(rustFile(t, &e))
		if err != nil {
			t.Fatal(err)
		}
		m, err := wire.ReadModule(data)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		carried, err := wire.ReadManifest(m, e.Name)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if !bytes.Equal(wire.EncodeManifest(carried), wire.EncodeManifest(manifest(t, &e))) {
			t.Errorf("%s: the manifest in the module is not that of the Go twin", e.Name)
		}
		if err := wire.Check(m, carried, e.Name); err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d bytes", e.Name, len(data))
		const most = 128 << 10
		if len(data) > most {
			t.Errorf("%s has %d bytes, more than %d", e.Name, len(data), most)
		}
	}
}

// rustRefusals are what the examples in Rust say of the configurations that the
// scenario files have as refused, in the words of the Rust SDK.
func rustRefusals() map[string]string {
	return map[string]string{
		`{"tenant": {}}`:           "tenant: there is no such field; there are tenants, shared, others",
		`{"podsPerTenant": "two"}`: "podsPerTenant: expected a number, found a string",
	}
}

// TestRustTwins: an example in Rust decides what the scenario files say, which its
// Go twins are held against, in all ways of making the calls.
func TestRustTwins(t *testing.T) {
	for _, e := range rustExamples() {
		if e.Scenarios == "" || e.Placing {
			continue // TestPoints runs these
		}
		t.Run(e.Name, func(t *testing.T) {
			factory := rustModule(t, &e)
			for _, s := range scenarios(t, &e) {
				if s.refusal != nil {
					words, ok := rustRefusals()[s.config]
					if !ok {
						t.Fatalf("%s: rustRefusals does not have the words for %s", s.at, s.config)
					}
					s.refusal = []string{words}
					refused(t, &e, s, factory)
					continue
				}
				for _, w := range ways() {
					if !race || !w.fresh {
						s.run(t, &e, factory, w)
					}
				}
			}
		})
	}
}

// TestRustDecidesAsGo: on clusters made by chance the twin in Rust, the Go module
// and the native twin give every node the same verdict, reasons and score.
func TestRustDecidesAsGo(t *testing.T) {
	configs := map[string]string{
		"tenant-pool": `{"tenants": {"ns-0": {"pools": ["p-0", "p-1"], "fallback": true}, "ns-1": {"pools": ["p-2"]}, "ns-2": {"pools": ["none"],
			"fallback": true}}, "shared": ["p-3", "\u0070-4"], "others": "shared"}`,
		"noisy-neighbour": `{"podsPerTenant": 3, "noisyPods": 2, "noisyMilliCPU": 2500, "exempt": ["ns-4"]}`,
	}
	for _, e := range rustExamples() {
		if configs[e.Name] == "" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			rust := rustModule(t, &e)
			for seed := range uint64(5) {
				r := rand.New(rand.NewPCG(seed, 7))
				snapshot, names, pods := chance(t, r, 200)
				decide := func(f wasm.Factory) (all []string) {
					tr := trial{t: t, example: &e, factory: f, way: way{name: "by chance", shards: 1}, config: wasm.Config{Config: []byte(configs[e.Name]), Shards: 1, VerifyEvery: 1}}
					defer tr.end()
					for i, pod := range pods {
						tr.cycle = &plugin.Cycle{Context: context.Background(), Snapshot: snapshot, Pod: pod, State: &state.CycleState{}, Seed: uint64(i + 1)}
						for _, v := range tr.place(names) {
							all = append(all, v.String())
						}
					}
					return all
				}
				want := decide(native(t, &e))
				if !slices.ContainsFunc(want, func(v string) bool { return strings.Contains(v, "Unschedulable") }) || !slices.ContainsFunc(want, func(v string) bool { return strings.HasSuffix(v, " 100") }) {
					t.Fatalf("seed %d: nobody is rejected, or nobody is best: choose another cluster", seed)
				}
				for name, got := range map[string][]string{"Rust": decide(rust), "Go": decide(module(t, &e))} {
					for i := range want {
						if got[i] != want[i] {
							t.Errorf("seed %d: the module in %s decides %q, the native twin %q", seed, name, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

// chance makes a cluster of nodes in pools with pods of several namespaces, and pods
// to be placed.
func chance(t *testing.T, r *rand.Rand, n int) (*state.Snapshot, []string, []*state.Pod) {
	t.Helper()
	c := cache.New(cache.Config{})
	var names []string
	pod := func(name, node string) *state.Pod {
		words := []string{fmt.Sprintf("ns-%d/%s", r.IntN(6), name), fmt.Sprint("requests=cpu:", 100*r.IntN(15)), fmt.Sprint("node=", node)}
		if r.IntN(3) == 0 {
			words = append(words, "labels=berth.dev/noisy:"+[]string{"true", "false", ""}[r.IntN(3)])
		}
		p, err := readPod(words)
		if err != nil {
			t.Fatal(err)
		}
		return state.NewPod(p)
	}
	for i := range n {
		words := []string{fmt.Sprint("node-", i)}
		if r.IntN(8) > 0 {
			words = append(words, fmt.Sprint("labels=berth.dev/pool:p-", r.IntN(6)))
		}
		node, err := readNode(words)
		if err != nil {
			t.Fatal(err)
		}
		c.AddNode(state.NewNode(node))
		names = append(names, node.Name)
		for j := range r.IntN(6) {
			if _, err := c.AddPod(pod(fmt.Sprintf("p-%d-%d", i, j), node.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	snapshot := state.NewSnapshot()
	c.UpdateSnapshot(snapshot)
	var pods []*state.Pod
	for i := range 12 {
		pods = append(pods, pod(fmt.Sprint("new-", i), ""))
	}
	return snapshot, names, pods
}
