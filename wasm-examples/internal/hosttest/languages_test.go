//go:build !wasip1

package hosttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// language is a language other than Go that examples exist in.
type language struct {
	name string
	// folder returns the folder of an example; empty if it does not exist in the language.
	folder func(e *wasmexamples.Example) string
	// build returns the module of a folder with a manifest file; empty means the folder's. It
	// skips the test without a toolchain.
	build func(t testing.TB, dir, manifest string) []byte
	// most is the maximum size of a module in bytes.
	most int
}

// examples returns the examples that exist in the language.
func (l *language) examples() []wasmexamples.Example {
	csr, dense := wasmexamples.Reference()
	all := append(wasmexamples.All(), wasmexamples.EveryPoint(), csr, dense)
	return slices.DeleteFunc(all, func(e wasmexamples.Example) bool { return l.folder(&e) == "" })
}

// kept is the name under which a module in the language is stored.
func (l *language) kept(e *wasmexamples.Example) string { return e.Name + "-in-" + l.name }

// file returns the file of an example's module, as the toolchain makes it.
func (l *language) file(t testing.TB, e *wasmexamples.Example) string {
	t.Helper()
	dir := l.folder(e)
	if dir == "" {
		t.Fatalf("%s does not exist in %s", e.Name, l.name)
	}
	built.mu.Lock()
	defer built.mu.Unlock()
	if path, ok := built.files[l.kept(e)]; ok {
		return path
	}
	path := filepath.Join(built.dir, l.kept(e)+".wasm")
	if err := os.WriteFile(path+".json", e.Manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	data := l.build(t, filepath.Join("..", "..", filepath.FromSlash(dir)), path+".json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	built.files[l.kept(e)] = path
	return path
}

// module returns an example's module as a factory.
func (l *language) module(t testing.TB, e *wasmexamples.Example) sandbox.Factory {
	t.Helper()
	return load(t, l.kept(e), l.file(t, e))
}

// testModules: the toolchain's output is a module that conforms to the ABI, has the manifest of
// its Go twin once, and is small.
func (l *language) testModules(t *testing.T) {
	for _, e := range l.examples() {
		l.testModule(t, &e)
	}
}

func (l *language) testModule(t *testing.T, e *wasmexamples.Example) {
	t.Helper()
	data, err := os.ReadFile(l.file(t, e))
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
	if !bytes.Equal(wire.EncodeManifest(carried), wire.EncodeManifest(manifest(t, e))) {
		t.Errorf("%s: the manifest in the module is not that of the Go twin", e.Name)
	}
	if err := wire.Check(m, carried, e.Name); err != nil {
		t.Error(err)
	}
	t.Logf("%s: %d bytes", e.Name, len(data))
	if len(data) > l.most {
		t.Errorf("%s has %d bytes, more than %d", e.Name, len(data), l.most)
	}
}

// testTwins: an example decides as its scenario files say, which also test its Go twins, in all
// ways of making the calls.
func (l *language) testTwins(t *testing.T) {
	for _, e := range l.examples() {
		if e.Scenarios == "" || e.Placing {
			continue // TestPoints runs these
		}
		t.Run(e.Name, func(t *testing.T) { decides(t, &e, scenarios(t, &e), l.module(t, &e)) })
	}
}

// testDecidesAsGo: on random clusters the twin and the native twin in Go give every node the
// same verdict, reasons and score.
func (l *language) testDecidesAsGo(t *testing.T) {
	for _, e := range l.examples() {
		if chanceConfig(&e) != "" {
			t.Run(e.Name, func(t *testing.T) { decidesAsNative(t, &e, l.name, l.module(t, &e)) })
		}
	}
}

// TestGoDecidesAsNative is the same for the modules in Go.
func TestGoDecidesAsNative(t *testing.T)     { goDecidesAsNative(t) }
func TestRestGoDecidesAsNative(t *testing.T) { goDecidesAsNative(t) }

func goDecidesAsNative(t *testing.T) {
	t.Helper()
	for _, e := range wasmexamples.All() {
		if chanceConfig(&e) != "" {
			t.Run(e.Name, func(t *testing.T) { decidesAsNative(t, &e, "Go", module(t, &e)) })
		}
	}
}

// chanceConfig returns an example's configuration for random clusters; may be empty.
func chanceConfig(e *wasmexamples.Example) string {
	return map[string]string{
		"tenant-pool": `{"tenants": {"ns-0": {"pools": ["p-0", "p-1"], "fallback": true}, "ns-1": {"pools": ["p-2"]}, "ns-2": {"pools": ["none"],
			"fallback": true}}, "shared": ["p-3", "\u0070-4"], "others": "shared"}`,
		"noisy-neighbour": `{"podsPerTenant": 3, "noisyPods": 2, "noisyMilliCPU": 2500, "exempt": ["ns-4"]}`,
	}[e.Name]
}

// decidesAsNative compares a module in a language with the native twin.
func decidesAsNative(t *testing.T, e *wasmexamples.Example, language string, module sandbox.Factory) {
	first := seeded.Rand(t).Uint64()
	for i := range uint64(5) {
		seed := first + i
		snapshot, names, pods := chance(t, rand.New(rand.NewPCG(seed, 11)), 200)
		decide := func(f sandbox.Factory) (all []string) {
			tr := playing{t: t, example: e, factory: f, way: way{name: "by chance", shards: 1}, config: wasm.Config{Config: []byte(chanceConfig(e)), Shards: 1, VerifyEvery: 1}}
			defer tr.end()
			for i, pod := range pods {
				tr.cycle = &plugin.Cycle{Context: context.Background(), Snapshot: snapshot, Pod: pod, State: &state.CycleState{}, Seed: uint64(i + 1)}
				for _, v := range tr.place(names) {
					all = append(all, v.String())
				}
			}
			return all
		}
		want, got := decide(native(t, e)), decide(module)
		if !slices.ContainsFunc(want, func(v string) bool { return strings.Contains(v, "Unschedulable") }) || !slices.ContainsFunc(want, func(v string) bool { return strings.HasSuffix(v, " 100") }) {
			seeded.Lacks(t, fmt.Sprintf("seed %d: a node that is rejected, and one that is best", seed))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("seed %d: the module in %s decides %q, the native twin %q", seed, language, got[i], want[i])
			}
		}
	}
}

// testVectors: the SDK reads the vectors, and gives their answers, in this host. dir, from the
// top of the repository, is a plugin that does so in Configure; it refuses its configuration,
// or traps, with the first difference.
func (l *language) testVectors(t *testing.T, dir string) {
	top := filepath.Join("..", "..", "..")
	vectors := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(top, "abi", "vectors", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	declared := filepath.Join(top, "abi", "sdk", "c", "tests", "vectors.json") // the plugin in C names this file
	data := l.build(t, filepath.Join(top, filepath.FromSlash(dir)), declared)
	module, err := wire.ReadModule(data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.ReadManifest(module, dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "vectors.wasm")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	start := func(regions string) error {
		config := fmt.Appendf(nil, `{"regions": %s, "pods": %s, "json": %s, "names": %s}`,
			regions, vectors("pods.json"), vectors("json.json"), vectors("names.json"))
		p, err := wasm.New(context.Background(), wasm.Config{Name: m.Name, Config: config, Grants: m.Rights()},
			wasm.Deps{Factory: load(t, "vectors-in-"+l.name, path), Manifest: m})
		if err != nil {
			return err
		}
		return p.Close(context.Background())
	}
	regions := string(vectors("regions.json"))
	if err := start(regions); err != nil {
		t.Error(err)
	}
	// It would find a difference.
	const known, other = `"\"gpu\""`, `"\"fpga\""`
	if err := start(strings.ReplaceAll(regions, known, other)); err == nil || !strings.Contains(err.Error(), `is "gpu", want "fpga"`) {
		t.Errorf("with another text for %s: %v", known, err)
	}
}

// testTutorial follows the tutorial of an SDK: the code blocks of a README.md, from the top of
// the repository, become files. The plugin makes the same decisions in all tutorials.
func (l *language) testTutorial(t *testing.T, readme string, files []string, prepare func(dir string)) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(readme)))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```(?:c|json|ts|text)\n(.*?)^```").FindAllSubmatch(text, -1)
	dir := t.TempDir()
	for i, file := range files {
		if i == len(blocks) {
			t.Fatalf("%s has %d code blocks, there must be one for %s", readme, i, file)
		}
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, blocks[i][1], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	prepare(dir)
	declared, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "plugin.wasm")
	if err := os.WriteFile(path, l.build(t, dir, ""), 0o644); err != nil {
		t.Fatal(err)
	}
	e := wasmexamples.Example{Name: "maintenance", Manifest: declared}
	factory := load(t, "tutorial-in-"+l.name, path)
	r := reader{name: "tutorial", lines: strings.Split(tutorial, "\n")}
	if err := r.read(); err != nil {
		t.Fatal(err)
	}
	decides(t, &e, r.all, factory)
}

// tutorial is the scenario of the SDKs' tutorials.
const tutorial = `config {"exempt": ["kube-system"]}

node a labels=example.com/maintenance:soon
node b

try default/web
----
a UnschedulableAndUnresolvable: node(s) had maintenance soon
b Success 0

try kube-system/agent
----
a Success 0
b Success 0

config {"exempt": [1]}
----
configuration refused: exempt[0]: expected a text, found 1
`
