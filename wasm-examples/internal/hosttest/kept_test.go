//go:build !wasip1

package hosttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/cycle"
	source "github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// keptDir has modules that earlier versions of the SDKs built, and what they decided (README.md).
const keptDir = "testdata/abi-1.0"

// kept is a module that is kept.
type kept struct{ name, path string }

// plugin is the name of the plugin, as in the module's manifest.
func (k *kept) plugin() string {
	name := k.name
	for _, language := range []string{"-c", "-rust", "-assemblyscript"} {
		name = strings.TrimSuffix(name, language)
	}
	return name
}

// keptModules returns the modules of the folder and, if BERTH_KEPT_GO names theirs, those in Go,
// each with the digest that is written down.
func keptModules(t *testing.T) (all []kept) {
	t.Helper()
	dirs := map[string]string{"SHA256SUMS": filepath.Join(keptDir, "modules")}
	if dir := os.Getenv("BERTH_KEPT_GO"); dir != "" {
		dirs["SHA256SUMS-go"] = dir
	}
	for sums, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(keptDir, sums))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			want, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
			if !ok {
				t.Fatalf("%s: %q is not a digest and a file", sums, line)
			}
			path, err := filepath.Abs(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
				t.Fatalf("%s is another module than the one of %s: %x", path, sums, sum)
			}
			all = append(all, kept{strings.TrimSuffix(file, ".wasm"), path})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return strings.Compare(a.path, b.path) })
	return all
}

// example returns the module as an example with the manifest that it carries.
func (k *kept) example(t *testing.T) wasmexamples.Example {
	t.Helper()
	data, err := os.ReadFile(k.path)
	if err != nil {
		t.Fatal(err)
	}
	module, err := wire.ReadModule(data)
	if err != nil {
		t.Fatalf("%s: %v", k.path, err)
	}
	m, err := wire.ReadManifest(module, k.path)
	if err != nil {
		t.Fatal(err)
	}
	return wasmexamples.Example{
		Name: m.Name, Manifest: wire.EncodeManifest(m), Scenarios: "internal/hosttest/" + keptDir + "/scenarios/" + k.plugin() + "/*.txt",
	}
}

// TestKeptPoints: at every point, a kept module's answers do what they did.
func TestKeptPoints(t *testing.T) {
	for _, k := range keptModules(t) {
		if k.plugin() != "everypoint" {
			continue
		}
		twin := twin{name: k.name, file: func(testing.TB, *wasmexamples.Example) string { return k.path }}
		for _, path := range scenariotest.Files(t, keptDir+"/points/*.txt") {
			t.Run(k.name+"/"+strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
				log := &scenario.Log{}
				golden.Compare(t, path, scenariotest.Run(t, path, log, func() scenario.Commands { return newCluster(t, log, twin).commands() }))
			})
		}
	}
}

// TestKeptVerdicts: a kept module gives the verdicts that it gave, in all ways of making the calls.
func TestKeptVerdicts(t *testing.T) {
	for _, k := range keptModules(t) {
		if files, _ := filepath.Glob(filepath.Join(keptDir, "scenarios", k.plugin(), "*")); len(files) == 0 {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			e := k.example(t)
			decides(t, &e, scenarios(t, &e), load(t, "kept-"+k.name, k.path))
		})
	}
}

// TestKeptPlacements: with a kept module, pods of a cluster go where they went.
func TestKeptPlacements(t *testing.T) {
	nodes, pods := keptCluster(t)
	text := func(placed map[string]string) []byte {
		var b bytes.Buffer
		for _, p := range pods {
			if p.Spec.NodeName == "" {
				fmt.Fprintf(&b, "%s/%s %s\n", p.Namespace, p.Name, placed[p.Namespace+"/"+p.Name])
			}
		}
		return b.Bytes()
	}
	without := text(placeKept(t, nodes, pods, nil))
	different := 0
	for _, k := range keptModules(t) {
		t.Run(k.name, func(t *testing.T) {
			got := text(placeKept(t, nodes, pods, &k))
			golden.Compare(t, filepath.Join(keptDir, "placements", k.plugin()+".txt"), got)
			if !bytes.Equal(got, without) {
				different++
			}
		})
	}
	// All but the plugin whose answers are in annotations, and those that decide as the plugin beside them.
	if different < 12 {
		t.Errorf("%d modules change a placement: the cluster shows too little", different)
	}
}

// keptCluster reads the cluster's nodes and pods.
func keptCluster(t *testing.T) (nodes []*v1.Node, pods []*v1.Pod) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(keptDir, "cluster.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		var err error
		switch words[0] {
		case "node":
			var n *v1.Node
			n, err = readNode(words[1:])
			nodes = append(nodes, n)
		case "pod":
			var p *v1.Pod
			p, err = readPod(words[1:])
			p.Spec.SchedulerName = v1.DefaultSchedulerName
			pods = append(pods, p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return nodes, pods
}

// placeKept returns the nodes of pods that are placed by a module beside the filter of
// NodeResourcesFit, so that what other native plugins decide does not matter.
func placeKept(t *testing.T, nodes []*v1.Node, pods []*v1.Pod, k *kept) map[string]string {
	t.Helper()
	s := assembly.Default()
	points := s.Profiles[0].Points
	for point, refs := range points {
		for i := len(refs) - 1; i >= 0; i-- {
			if name := refs[i].Name; name != "PrioritySort" && name != "DefaultBinder" && (name != "NodeResourcesFit" || point == "score") {
				refs = slices.Delete(refs, i, i+1)
			}
		}
		if points[point] = refs; len(refs) == 0 {
			delete(points, point)
		}
	}
	s.Profiles[0].AllowUnenforced = []string{"scheduling-gates"}
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: cacheDir(), VerifyEvery: 1})
	defer modules.Close(context.Background())
	if k != nil {
		ref := source.Reference{Path: k.path, GrantAll: true}
		if file := filepath.Join(keptDir, "configs", k.plugin()+".json"); fileExists(file) {
			ref.ConfigFile = file
		}
		m, err := modules.Load(ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Enable(s); err != nil {
			t.Fatal(err)
		}
	}
	c := sim.Config{Nodes: nodes, Assembly: assembly.Config{Scheduler: s, Modules: modules, Seed: 1, TieBreak: cycle.First, Workers: 2}}
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			c.Bound = append(c.Bound, state.NewPod(p))
		} else {
			c.Arrivals = append(c.Arrivals, input.Arrival{Pod: p})
		}
	}
	simulation, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulation.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	placed := make(map[string]string)
	for _, p := range r.Placements {
		placed[p.Namespace+"/"+p.Pod] = p.Node
	}
	for _, u := range r.Plugins {
		if u.Faults != 0 {
			t.Errorf("plugin %s has %d faults", u.Name, u.Faults)
		}
	}
	return placed
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
