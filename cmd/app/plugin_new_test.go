package app

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/cmd/app/scaffold"
	"github.com/berth-scheduler/berth/internal/testcache"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// TestPluginNew: a new project in each language builds without a network, passes its
// tests at once, and is what its README says.
func TestPluginNew(t *testing.T)     { pluginNew(t) }
func TestRestPluginNew(t *testing.T) { pluginNew(t) }

func pluginNew(t *testing.T) {
	t.Helper()
	for _, language := range scaffold.Languages() {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			project := filepath.Join(dir, "rack-aware")
			stdout, stderr, err := process(t, dir, "plugin", "new", "rack-aware", "--lang", language)
			if err != nil || stderr != "" {
				t.Fatalf("%v\n%s", err, stderr)
			}
			for _, line := range []string{"Created rack-aware with a plugin and the SDK:\n", "  manifest.json\n", "  testdata/nodes.txt\n", "  cd rack-aware\n"} {
				if !strings.Contains(stdout, line) {
					t.Errorf("%q is not printed:\n%s", line, stdout)
				}
			}
			readme, err := os.ReadFile(filepath.Join(project, "README.md"))
			if err != nil || strings.Contains(string(readme), "@") || !strings.Contains(string(readme), "rack-aware.wasm") {
				t.Errorf("the README is not filled in (%v):\n%s", err, readme)
			}
			requireToolchain(t, language, project)
			if language == "rust" {
				dir = kept(t, project)
			}
			stdout, stderr, err = process(t, dir, "plugin", "test", "rack-aware")
			if err != nil || stderr != "" {
				t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
			}
			if strings.Count(stdout, "ok    ") < 5 || strings.Contains(stdout, "natively") != (language == "go" || language == "rust") {
				t.Errorf("not all tests were run:\n%s", stdout)
			}
			// Without a hint no node is in maintenance, so the reason is never returned.
			stdout, stderr, err = process(t, dir, "plugin", "conformance", "rack-aware", "--cycles", "2")
			if err != nil || !strings.Contains(stdout, "\"node(s) had maintenance soon\" was never returned: add a hint\n") {
				t.Errorf("a reason that never came up is not told: %v\n%s\n%s", err, stdout, stderr)
			}
			sdk := map[string]string{
				"go": "github.com/berth-scheduler/berth v0.1.0", "rust": "berth 0.1.0", "c": "berth.h 0.1.0", "assemblyscript": "@berth-scheduler/sdk 0.1.0",
			}[language]
			stdout, stderr, err = process(t, dir, "plugin", "sbom", "rack-aware")
			part, version, _ := strings.Cut(sdk, " ")
			if err != nil || !strings.Contains(stdout, `"name": "`+part+"\",\n      \"version\": \""+version+`"`) {
				t.Errorf("the SDK's version is not in the bill of materials: %v\n%s\n%s", err, stdout, stderr)
			}
			if language == "go" {
				checkNewInGo(t, dir)
			}
			checkTold(t, project, language)
			checkUnused(t, project)
			if language == "c" {
				checkChecked(t, project)
			}
		})
	}
}

// requireToolchain skips a test without the toolchain of a project, and installs what the project needs.
func requireToolchain(t *testing.T, language, project string) {
	t.Helper()
	switch language {
	case "go":
		testrest.Only(t)
	case "rust":
		cargotest.Toolchain(t)
	case "c":
		clangtest.Toolchain(t)
	case "assemblyscript": // what npm ci installs
		compiler := filepath.Join(sdkFolder(), "node_modules")
		if _, err := os.Stat(compiler); err == nil {
			if err := os.Symlink(compiler, filepath.Join(project, "berth", "node_modules")); err != nil {
				t.Fatal(err)
			}
		}
		asctest.Toolchain(t, project)
	}
}

// pointSets are combinations of points: together they have each point, alone as far as it can be, and
// the last one has all of them.
func pointSets() []string {
	return []string{
		"filter,score,reserve,unreserve", "preEnqueue,queueSort,hint", "preFilter,addPod,removePod,filter,postFilter", "preScore,score,normalize",
		"permit,preBind,bind,postBind", strings.Join(scaffold.Points(), ","),
	}
}

// TestRestPluginNewPoints: a project with chosen points builds, exports them and passes its test, in
// each language. In C, whose compiler is fastest, each point is also there with no other but those that it needs.
func TestRestPluginNewPoints(t *testing.T) {
	needs := map[string]string{
		"addPod": "preFilter,removePod", "removePod": "preFilter,addPod", "preScore": "score", "normalize": "score", "unreserve": "reserve",
	}
	for _, language := range scaffold.Languages() {
		sets := pointSets()
		if language == "c" {
			for _, point := range scaffold.Points() {
				sets = append(sets, strings.TrimSuffix(point+","+needs[point], ","))
			}
		}
		for i, points := range sets {
			t.Run(language+"/"+points, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				name := fmt.Sprintf("points-%d", i)
				if _, stderr, err := process(t, dir, "plugin", "new", name, "--lang", language, "--points", points); err != nil {
					t.Fatalf("%v\n%s", err, stderr)
				}
				project := filepath.Join(dir, name)
				requireToolchain(t, language, project)
				if language == "rust" {
					dir = kept(t, project)
				}
				stdout, stderr, err := process(t, dir, "plugin", "test", "--cycles", "20", name)
				if !slices.Contains(strings.Split(points, ","), "filter") { // that preFilter skips no point shows nowhere
					stdout = strings.Replace(stdout, "note  no answer in the scenarios needs reads.pod: namespace:", "", 1)
				}
				if err != nil || stderr != "" || strings.Contains(stdout, "note ") {
					t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
				}
			})
		}
	}
}

// kept copies a project to where the same one was in earlier runs, so that cargo need not build it anew, and returns the
// folder above it.
func kept(t *testing.T, project string) string {
	t.Helper()
	key, err := testcache.Key([]string{project}, []string{""})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := testcache.Dir(filepath.Join("..", ".."), "new-"+key)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, filepath.Base(project))
	if _, err := os.Stat(at); err == nil {
		return dir
	}
	unfinished, err := os.MkdirTemp(dir, "copy-")
	if err == nil {
		err = os.CopyFS(unfinished, os.DirFS(project))
	}
	if err == nil {
		err = os.Rename(unfinished, at)
	}
	if _, made := os.Stat(at); made != nil { // or another process was faster
		t.Fatal(err, made)
	}
	return dir
}

// checkNewInGo: what is in Go is formatted, built, and measured beside its native twin. plugin test has
// built the others, and TestPluginBuildLanguages tests how they are built.
func checkNewInGo(t *testing.T, dir string) {
	for _, file := range []string{"rack_aware.go", "rack_aware_test.go", "guest/main.go"} {
		source, err := os.ReadFile(filepath.Join(dir, "rack-aware", file))
		if err != nil {
			t.Fatal(err)
		}
		if formatted, err := format.Source(source); err != nil || string(formatted) != string(source) {
			t.Errorf("%s is not as gofmt has it (%v)", file, err)
		}
	}
	stdout, stderr, err := process(t, dir, "plugin", "build", "rack-aware", "-o", "rack-aware.wasm")
	if err != nil || !strings.HasPrefix(stdout, "rack-aware.wasm: rack-aware 0.1.0, ") {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
	if _, stderr, err := process(t, dir, "plugin", "bench", "rack-aware", "--config", "none.json"); err == nil || !strings.HasPrefix(stderr, "berth: none.json: config: no such file") {
		t.Errorf("with a configuration that is not there: %v\n%s", err, stderr)
	}
	stdout, stderr, err = process(t, dir, "plugin", "bench", "rack-aware", "--nodes", "10,20", "--time", "5ms", "--hint", "soon")
	lines := strings.Split(stdout, "\n")
	if err != nil || len(lines) < 5 || !slices.Equal(strings.Fields(lines[2]), strings.Fields("NODES PER POD FUEL CALLS WRITTEN CALL NATIVE")) ||
		!strings.Contains(lines[4], "  20  ") && !strings.HasPrefix(strings.TrimSpace(lines[4]), "20") || strings.HasSuffix(strings.TrimSpace(lines[4]), "-") {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
}

// checkTold: when a plugin traps, bench says where and what the guest said last. Compilers may put
// a function into its caller.
func checkTold(t *testing.T, project, language string) {
	t.Helper()
	c := map[string]struct{ file, before, trap, function string }{
		"go":             {"rack_aware.go", "\tif p.soon.Is(", "if true { panic(`gives up`) }\n", "rack-aware.(*Plugin).Filter"},
		"rust":           {"src/lib.rs", "        if self.soon.is(", `if true { panic!("gives up") }`, "core::panicking::panic"},
		"c":              {"plugin.c", "  (void)pod;", `berth_log(BERTH_INFO, "gives up"); __builtin_trap();`, "berth_filter"},
		"assemblyscript": {"assembly/index.ts", "    if (this.soon.is(node", `if (this.exempt.length < 9) throw new Error("gives up");`, "assembly/index/Maintenance"},
	}[language]
	// The compiler of AssemblyScript makes a method that always throws a part of its caller.
	told := filepath.Join(t.TempDir(), "rack-aware")
	if err := os.CopyFS(told, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(told, filepath.FromSlash(c.file))
	source, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(source), c.before, c.trap+c.before, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, err := process(t, filepath.Dir(told), "plugin", "bench", "rack-aware", "--nodes", "10", "--time", "1ms")
	if err == nil || !strings.Contains(stderr, "the plugin faults in a cluster of 10 nodes: Filter: ") || !strings.Contains(stderr, "gives up") || !strings.Contains(stderr, c.function) {
		t.Errorf("of a trap is said (%v):\n%s", err, stderr)
	}
}

// checkUnused: what the manifest reads in vain is noted, and nothing else.
func checkUnused(t *testing.T, project string) {
	t.Helper()
	vain := filepath.Join(t.TempDir(), "rack-aware")
	if err := os.CopyFS(vain, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(vain, "manifest.json")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.NewReplacer(`"nodeLabels": [`, `"node": ["taints", "allocatable"], "resources": ["cpu"], "nodeLabels": ["example.com/other", `,
			`"pod": [`, `"pod": ["labels", "priority", `).Replace(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := process(t, filepath.Dir(vain), "plugin", "test", "--wasm-only", "--cycles", "1", "rack-aware")
	const want = "note  no answer in the scenarios needs reads.node: taints, allocatable; reads.nodeLabels: example.com/other; reads.resources: cpu; " +
		"reads.pod: labels, priority: remove from the manifest what"
	if err != nil || !strings.Contains(stdout, want) || strings.Count(stdout, "note ") != 1 {
		t.Errorf("reads without use: %v\n%s\n%s", err, stdout, stderr)
	}
}

// checkChecked: C that reads and writes beside an array passes its scenarios, and is told nevertheless.
func checkChecked(t *testing.T, project string) {
	t.Helper()
	file := filepath.Join(project, "plugin.c")
	source, err := os.ReadFile(file)
	if err == nil {
		wrong := strings.NewReplacer("static uint32_t n_exempt;", "static uint32_t n_exempt, seen[4];", "  (void)pod;", "  (void)pod; seen[n_exempt + 3]++;").Replace(string(source))
		err = os.WriteFile(file, []byte(wrong), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	stdout, _, err := process(t, filepath.Dir(project), "plugin", "test", "--cycles", "1", "rack-aware")
	if err == nil || !strings.Contains(stdout, "ok    as WebAssembly: ") || !strings.Contains(stdout, "FAIL  with checks of arrays and overflows: ") ||
		!strings.Contains(stdout, "filter\n") {
		t.Errorf("an index outside of an array: %v\n%s", err, stdout)
	}
}

// process runs berth in a process of its own, in a folder and without a network.
func process(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command("berth", args...) // which package testscript puts into $PATH
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "CARGO_NET_OFFLINE=true", "CARGO_TARGET_DIR="+filepath.Join(dir, "target"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// TestPluginNewRefuses: a name that would not build, and a folder that is there, are
// refused before anything is written.
func TestPluginNewRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("there", 0o700); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args []string
		want string
	}{
		{[]string{"rack"}, "--lang is missing: use one of go, rust, c, assemblyscript"},
		{[]string{"rack", "--lang", "zig"}, `--lang: "zig" is not one of go, rust, c, assemblyscript`},
		{nil, "the name is missing: write berth plugin new NAME --lang LANGUAGE"},
		{[]string{"a", "b", "--lang", "go"}, `unexpected argument "b": berth plugin new takes one name`},
		{[]string{"Rack", "--lang", "c"}, `"Rack" is not a valid plugin name: use at most 63 lower-case letters, digits and single dashes, with a letter first`},
		{[]string{"1rack", "--lang", "c"}, `"1rack" is not a valid plugin name`},
		{[]string{"rack-", "--lang", "c"}, `"rack-" is not a valid plugin name`},
		{[]string{"rack_aware", "--lang", "rust"}, `"rack_aware" is not a valid plugin name`},
		{[]string{"..", "--lang", "go"}, `".." is not a valid plugin name`},
		{[]string{strings.Repeat("a", 64), "--lang", "go"}, "at most 63"},
		{[]string{"func", "--lang", "go"}, `"func" is a reserved word in this language: choose another name`},
		{[]string{"match", "--lang", "rust"}, `"match" is a reserved word`},
		{[]string{"berth", "--lang", "c"}, `"berth" is a reserved word`},
		{[]string{"rack", "--lang", "c", "--points", ""}, "--points is empty: name extension points, such as filter,score"},
		{[]string{"rack", "--lang", "c", "--points", "fitler"}, `points: "fitler" is not an extension point: use some of preEnqueue,queueSort,hint,preFilter,`},
		{[]string{"rack", "--lang", "c", "--points", "filter,score,filter"}, "points: filter is there twice: remove one"},
		{[]string{"rack", "--lang", "c", "--points", "unreserve"}, "points: unreserve: it needs the point reserve: add reserve, or remove unreserve"},
		{[]string{"rack", "--lang", "c", "--points", "preFilter,addPod"}, "points: addPod: it needs the point removePod: add removePod"},
		{[]string{"rack", "--lang", "c", "--points", "addPod,removePod"}, "points: addPod: it needs the point preFilter, whose state it updates: add preFilter, or"},
		{[]string{"rack", "--lang", "c", "--points", "preScore,filter"}, "points: preScore: it needs the point score: add score, or remove preScore"},
		{[]string{"there", "--lang", "c"}, "there exists: choose another name, or remove it"},
		{[]string{"nowhere/rack", "--lang", "c"}, "create the folder first"},
	}
	for _, c := range cases {
		stdout, _, err := pluginCommand(t, append([]string{"new"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || stdout != "" {
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
	if files, err := filepath.Glob("*"); err != nil || !slices.Equal(files, []string{"there"}) {
		t.Errorf("written were %q (%v)", files, err)
	}
}

// TestPluginTargets: what is wrong with a folder is told by its name, not by that of the
// module that is built of it.
func TestPluginTargets(t *testing.T) {
	t.Chdir(t.TempDir())
	const mod = "module tiny\n\ngo 1.24\n"
	config := strings.Replace(guestManifest, `"points"`, `"config": {"type": "object", "required": ["a"]}, "points"`, 1)
	configured := strings.Replace(guestSource, "//go:wasmexport berth_filter", `//go:wasmexport berth_configure
func configure(at, n uint32) uint32 { return 0 }

//go:wasmexport berth_filter`, 1)
	writeFiles(t, ".", map[string]string{
		"lying/main.go": guestSource, "lying/go.mod": mod, "lying/manifest.json": strings.ReplaceAll(guestManifest, "filter", "score"), "lying/testdata/a.txt": "",
		"strict/main.go": configured, "strict/go.mod": mod, "strict/manifest.json": config,
		"b.json": `{"b": 1}`, "a [b]/main.go": guestSource, "a [b]/go.mod": mod, "a [b]/testdata/a.txt": "", "a [b]/manifest.json": "{}",
	})
	for _, c := range []struct{ args, want string }{
		{"test lying", `the module of lying: export "berth_filter": the manifest does not declare the point filter`},
		{"test strict", "no scenario file matches strict/testdata/*.txt: write one"},
		{"bench lying", `the module of lying: export "berth_filter": the manifest does not declare the point filter`},
		{"bench strict", "the module of strict: config: the field \"a\" is missing\nthe module of strict: config: none is given; write ?config=FILE"},
		{"conformance strict", "the module of strict: config: the field \"a\" is missing\nthe module of strict: config: none is given; write ?config=FILE"},
		{"conformance strict --config b.json", `b.json: config: the field "a" is missing`},
		{"conformance b.wasm --config b.json", "--config is for a folder: name the module as MODULE?config=b.json"},
		{"bench none", "stat none: no such file or directory; name the folder of a plugin, or a module: PATH.wasm, or PATH.wasm?config=FILE"},
		{"test", "no scenario file matches testdata/*.txt: write one"},
	} {
		if _, _, err := pluginCommand(t, strings.Fields(c.args)...); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.args, err, c.want)
		}
	}
	logs := strings.Replace(guestManifest, `"points"`, `"config": {"type": "object"}, "host": ["log"], "points"`, 1)
	writeFiles(t, "mute", map[string]string{"main.go": guestSource, "go.mod": mod, "manifest.json": logs})
	if _, _, err := pluginCommand(t, "build", "mute"); err == nil || !strings.Contains(err.Error(), "is not exported: call Export of abi/sdk/go/export/configure in package main\n") {
		t.Errorf("a configuration that is not exported: %v", err)
	}
	if _, _, err := pluginCommand(t, "test", "a [b]"); err == nil || !strings.HasPrefix(err.Error(), "a [b]/manifest.json: manifest: ") {
		t.Errorf("a folder whose name has brackets: %v", err)
	}
}
