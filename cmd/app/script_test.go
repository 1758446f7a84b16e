package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/cmd/app/scaffold"
	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/internal/testcache"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/market/registry"
	"github.com/berth-scheduler/berth/runtime/module"
)

func TestMain(m *testing.M) {
	run := func() { os.Exit(Run(Command())) }
	testscript.Main(tests{m}, map[string]func(){"berth": run, "kubectl-berth": run})
}

// tests are those of the package. What cargo makes of crates of this repository is kept for the next run.
type tests struct{ *testing.M }

// Run implements testscript.TestingM.
func (m tests) Run() int {
	target, err := testcache.Dir(filepath.Join("..", ".."), "cargo-app")
	if err == nil {
		err = os.Setenv("CARGO_TARGET_DIR", target)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return m.M.Run()
}

// cacheHome returns a folder for caches in which there is nothing but compiled modules, and what Go has built.
func cacheHome(t *testing.T) string {
	t.Helper()
	modules, err := testcache.Dir(filepath.Join("..", ".."), "wazero")
	if err != nil {
		t.Fatal(err)
	}
	built, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(home, "berth"), 0o700), os.Symlink(modules, filepath.Join(home, "berth", "modules")),
		os.Symlink(strings.TrimSpace(string(built)), filepath.Join(home, "go-build"))); err != nil {
		t.Fatal(err)
	}
	return home
}

// TestScript runs testdata/script/*.txtar, whose commands besides testscript's
// own are those below. $DEMO is the demo's folder, $CLUSTER that of a small cluster.
// Scripts named modules_… have modules in $MODULES, see compile; those named …market…
// a registry at $REGISTRY, whose folder is $SERVED.
//
//	berth ARG …          run berth in a process of its own
//	status N berth …     the same, with the exit status N
//	normalise FILE       write what was printed to FILE, without wall-clock times
//	                     and digests of modules
//	placements FILE      write the placements of JSON that was printed to FILE
//	expand FILE          put the values of $VARIABLES into FILE
func TestScript(t *testing.T)     { runScripts(t) }
func TestRestScript(t *testing.T) { runScripts(t) }

func runScripts(t *testing.T) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	modules, cache := sync.OnceValues(func() (map[string]string, error) { return compile(t) }), cacheHome(t)
	testscript.Run(t, testscript.Params{
		Files:         scripts(t),
		UpdateScripts: golden.Rewriting(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("DEMO", filepath.Join(here, "..", "berth", "demo"))
			env.Setenv("CLUSTER", filepath.Join(here, "testdata", "cluster"))
			env.Setenv("XDG_CACHE_HOME", cache)      // compiled modules are shared by all scripts
			env.Setenv("DOCKER_CONFIG", env.WorkDir) // whatever this user has logged in to
			script := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			if strings.Contains(script, "market") {
				if err := serveRegistry(env); err != nil {
					return err
				}
			}
			if !strings.HasPrefix(script, "modules_") {
				return nil
			}
			vars, err := modules()
			for name, value := range vars {
				env.Setenv(name, value)
			}
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "normalise": normalise, "placements": placements, "expand": expand,
		},
	})
}

// serveRegistry serves a registry for a script.
func serveRegistry(env *testscript.Env) error {
	dir := filepath.Join(env.WorkDir, "served")
	handler, err := registry.New(registry.Config{Dir: dir})
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler)
	env.Defer(server.Close)
	env.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "http://"))
	env.Setenv("SERVED", dir)
	return nil
}

// scripts returns the files of the scripts.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		name := filepath.Base(file)
		chosen, err := filepath.Match(moduleScripts, name)
		modules := strings.HasPrefix(name, "modules_")
		// Slow: compile builds guests in Go; and in the others each command is a process.
		slow := modules || slices.Contains([]string{"run_input.txtar", "replay.txtar", "trace.txtar", "seed.txtar"}, name)
		return modules && (err != nil || !chosen) || slow != testrest.In(t)
	})
}

// compile builds the modules that scripts use, once, and returns their folder and the digest of one as variables. Besides three
// examples they are unruly, which breaks rules (see testdata/guest), accepts, a hundred bytes that accept every node and are compiled
// at once, asks, the same with directives, warm, loads and timed, the same that read an annotation, a feed and the time, named, which reads
// what its configuration names, yours, the same with the publisher of projects, versions of rack-aware, and some that cannot be used.
func compile(t *testing.T) (map[string]string, error) {
	dir := t.TempDir()
	for name, source := range map[string]string{
		"tenant-pool": "../../wasm-examples/tenantpool/guest", "zone-cost": "../../wasm-examples/zonecost/guest",
		"noisy-neighbour": "../../wasm-examples/noisyneighbour/guest", "unruly": "testdata/guest",
	} {
		var stderr bytes.Buffer
		if code := run(context.Background(), []string{"plugin", "build", source, "-o", filepath.Join(dir, name+".wasm")}, io.Discard, &stderr); code != exitOK {
			return nil, fmt.Errorf("build %s: %s", source, stderr.String())
		}
	}
	good, err := os.ReadFile(filepath.Join(dir, "tenant-pool.wasm"))
	if err != nil {
		return nil, err
	}
	accepts, err := vector("good")
	errs := []error{err}
	asks, err := withManifest(accepts, func(m *wire.Manifest) {
		m.Directives = wire.ManifestDirectives{Labels: []string{"example.com/"}, Waiting: true}
	})
	warm, err2 := withManifest(accepts, func(m *wire.Manifest) { m.Reads.NodeAnnotations = []string{"example.com/temperature"} })
	loads, err4 := withManifest(accepts, func(m *wire.Manifest) { m.ABI, m.Reads.Feeds = "1.1", []string{"node.cpu.usage:milli"} })
	timed, err7 := withManifest(accepts, func(m *wire.Manifest) {
		m.ABI, m.Reads.Pod, m.Reads.Resolution = "1.1", []string{"now"}, []string{"1s"}
	})
	every, err5 := vector("good-all-points")
	named, err6 := withManifest(every, func(m *wire.Manifest) {
		m.ABI, m.Config, m.Reads.NodeLabels = "1.1", []byte(`{"type":"object"}`), []string{"zone"}
		m.Reads.FromConfig = map[string][]string{"nodeLabels": {"/keys"}, "feeds": {"/load"}}
	})
	yours, err3 := withManifest(accepts, func(m *wire.Manifest) { m.Publisher = scaffold.Publisher })
	errs = append(errs, err, err2, err3, err4, err5, err6, err7, racks(accepts, dir))
	for name, data := range map[string][]byte{
		"accepts": accepts, "asks": asks, "warm": warm, "loads": loads, "timed": timed, "named": named, "yours": yours,
		"cut": good[:len(good)/2], "empty": {}, "text": []byte("hello, world\n"), "bare": []byte("\x00asm\x01\x00\x00\x00"),
	} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name+".wasm"), data, 0o600))
	}
	return map[string]string{"MODULES": dir, "DIGEST": module.Digest(good)}, errors.Join(errs...)
}

// racks writes versions of a plugin: 1.2.0, 1.2.1, 1.3.0, which reads more and has a configuration, and 2.0.0,
// which also writes labels.
func racks(accepts []byte, dir string) error {
	var errs []error
	for _, version := range []string{"1.2.0", "1.2.1", "1.3.0", "2.0.0"} {
		data, err := withManifest(accepts, func(m *wire.Manifest) {
			m.Name, m.Version, m.Publisher, m.License, m.Description = "rack-aware", version, "Example", "Apache-2.0", "Spreads pods over racks"
			m.Reads.NodeLabels = []string{"example.com/rack"}
			if version >= "1.3.0" {
				m.Reads.Pods = []string{"labels"}
				m.Config = []byte(`{"properties":{"racks":{"description":"racks that are full","items":{"type":"string"},"type":"array"}},"type":"object"}`)
			}
			if version >= "2.0.0" {
				m.Directives.Labels = []string{"example.com/"}
			}
		})
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, "rack-aware-"+version+".wasm"), data, 0o600))
	}
	return errors.Join(errs...)
}

// withManifest returns a module with another manifest.
func withManifest(code []byte, change func(*wire.Manifest)) ([]byte, error) {
	m, err := wire.ReadModule(code)
	if err != nil {
		return nil, err
	}
	manifest, err := wire.ReadManifest(m, "")
	if err != nil {
		return nil, err
	}
	change(manifest)
	bare, _, err := wire.RemoveCustomSection(code, abi.ManifestSection)
	if err != nil {
		return nil, err
	}
	return wire.AppendCustomSection(bare, abi.ManifestSection, wire.EncodeManifest(manifest))
}

func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o644))
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: status N COMMAND ARG…")
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status is %d, want %d", got, want)
	}
}

func normalise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: normalise FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(normal(ts.ReadFile("stdout"))), 0o644))
}

// normal takes out what the wall clock decides: times and rates, and in the table
// of plugins the order, the share, and the widths of the columns; and digests of
// modules, which depend on the toolchain.
func normal(out string) string {
	for pattern, with := range map[string]string{
		`(?m)^( *"(?:seconds|podsPerSecond)": )[0-9.e+-]+`: "${1}0",
		`in [0-9.]+ (?:s|ms|µs) \([0-9]+ pods/s\)`:         "in T (N pods/s)",
		`sha256:[0-9a-f]{12,64}`:                           "sha256:D",
		`127\.0\.0\.1:[0-9]+`:                              "127.0.0.1:PORT",
	} {
		out = regexp.MustCompile(pattern).ReplaceAllString(out, with)
	}
	lines := strings.Split(out, "\n")
	for first, line := range lines {
		if !strings.HasPrefix(line, "PLUGIN ") {
			continue
		}
		n := slices.Index(lines[first:], "")
		table := lines[first : first+n]
		keep := 3
		if strings.Contains(line, " FAULTS ") {
			keep = 4
		}
		for i, row := range table {
			f := strings.Fields(row)
			table[i] = strings.Join(f[:keep], " ")
		}
		slices.Sort(table[1:])
	}
	return strings.Join(lines, "\n")
}

func placements(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: placements FILE")
	}
	var r struct {
		Placements []struct{ Namespace, Pod, Node string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &r))
	var b strings.Builder
	for _, p := range r.Placements {
		b.WriteString(p.Namespace + "/" + p.Pod + " " + p.Node + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}
