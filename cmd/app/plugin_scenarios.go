package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/module"
)

type pluginTestOptions struct {
	plugin    string
	scenarios string
	rewrite   bool
	wasmOnly  bool
	cycles    int
	ownLimit  time.Duration // of the project's own tests if the plugin failed as WebAssembly
	compileOptions
}

func newPluginTest() *cobra.Command {
	o := pluginTestOptions{ownLimit: faultedLimit}
	cmd := &cobra.Command{
		Use:   "test [DIR|MODULE]",
		Short: "Test a plugin with scenarios, odd clusters and invalid input",
		Long: `Test takes a module, or builds the plugin in a folder (the current one by default). Then it

- runs the scenario files, testdata/*.txt, against the module: each case in one instance,
  with a fresh instance for every call, with other row numbers and ids, and split over
  several calls;
- in C, does so with a module that traps at wrong indices and at overflows of signed numbers;
- runs the project's own tests in Go or Rust, for at most 30 seconds if a scenario failed;
- tests the module against the duties of guests, as berth plugin conformance does, with
  one instance and with several that share the nodes. Hints are what the last scenario
  names, and the lines of the file hints beside the scenarios;
- gives it odd clusters, invalid configurations, and memory with wrong numbers. The module
  may answer the last two as it likes, but must then decide as before.

A scenario's configuration that the manifest's schema refuses has the text that users get, since no
host passes it to a plugin.

The comment of berthtest.Scenarios documents scenario files:
https://pkg.go.dev/github.com/berth-scheduler/berth/abi/sdk/go/berthtest

The exit status is 1 if a test failed, and 2 if there is nothing to test.`,
		Example: `  berth plugin test
  berth plugin test ./rack-aware --rewrite
  berth plugin test rack-aware.wasm --scenarios 'testdata/*.txt'`,
		Args:    optionalArgument("folder or module"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.plugin = append(args, ".")[0]
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.scenarios, "scenarios", "", "`PATTERN` of scenario files; testdata/*.txt in the folder or its parent if not given")
	f.BoolVar(&o.rewrite, "rewrite", false, "write the actual answers to the scenario files instead of comparing")
	f.IntVar(&o.cycles, "cycles", 0, cyclesUsage)
	f.BoolVar(&o.wasmOnly, "wasm-only", false, "skip the project's own tests")
	o.addTo(f)
	return cmd
}

// pluginTest is one run of the command.
type pluginTest struct {
	*pluginTestOptions
	out    io.Writer
	dir    string // of the project; empty for a module
	module *opened
	failed int
	done   []tested
	told   []string // what the scenarios said
	noted  []string
	err    error // of printing
}

// tested is the result of a test: it is good if nothing failed.
type tested struct {
	what   string
	failed []string
}

func (o *pluginTestOptions) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if err := checkCycles(o.cycles); err != nil {
		return err
	}
	t := &pluginTest{pluginTestOptions: o, out: stdout}
	if info, err := os.Stat(o.plugin); err == nil && info.IsDir() {
		t.dir = o.plugin
	}
	files, err := t.files()
	if err != nil {
		return err
	}
	hints, err := readHints(filepath.Dir(files[0]))
	if err != nil {
		return err
	}
	target, err := findTarget(ctx, o.plugin, stderr)
	if err != nil {
		return err
	}
	defer target.remove()
	if target.ref.ConfigFile != "" {
		return fmt.Errorf("%s: remove ?config=: scenario files contain the configurations", o.plugin)
	}
	loaded, err := module.Read(target.ref.Path) // without a configuration
	if err != nil {
		return err
	}
	if t.module, err = openModule(ctx, loaded, target.named, &t.compileOptions); err != nil {
		return target.inWords(err)
	}
	defer func() { err = errors.Join(err, t.module.close(ctx)) }()
	if err := checkHints(t.module.Manifest, hints); err != nil {
		return err
	}
	t.printf("%s %s, %s\n", t.module.Manifest.Name, t.module.Manifest.Version, size(int64(len(t.module.Bytes))))
	if t.dir == "" {
		if old := stale(loaded.Path, loaded.Manifest.Name, filepath.Join(filepath.Dir(files[0]), "..")); old != "" {
			t.printf("note  %s\n", old)
		}
	}
	last, pods := t.runScenarios(ctx, files)
	if !t.rewrite && t.dir != "" && languageOf(t.dir) == "c" {
		if err := t.runChecked(ctx, files); err != nil && ctx.Err() == nil {
			return &failure{err}
		}
	}
	if !t.wasmOnly && !t.rewrite && t.dir != "" {
		t.runOwn(ctx)
	}
	if t.failed == 0 && !t.rewrite {
		switch err := t.checkDuties(ctx, last, pods, hints); {
		case err == nil:
			t.checkHostile(last, pods)
		case ctx.Err() == nil:
			return target.inWords(err)
		}
	}
	switch {
	case t.err != nil:
		return writing(t.err)
	case ctx.Err() != nil:
		return &failure{fmt.Errorf("stopped: %w", context.Cause(ctx))}
	case t.failed > 0:
		return &failure{fmt.Errorf("%s failed", count(t.failed, "test"))}
	}
	return nil
}

// files returns the scenario files.
func (t *pluginTest) files() ([]string, error) {
	if t.scenarios != "" {
		files, err := filepath.Glob(t.scenarios)
		if err != nil {
			return nil, fmt.Errorf("--scenarios: %q: %w", t.scenarios, err)
		}
		if len(files) > 0 {
			return files, nil
		}
		return nil, noScenarios(t.scenarios)
	}
	dir := t.dir
	if dir == "" {
		path, _, _ := strings.Cut(t.plugin, "?")
		dir = filepath.Dir(path)
	}
	for _, dir := range []string{dir, filepath.Join(dir, "..")} { // whose names may have what a pattern gives a meaning
		names, err := fs.Glob(os.DirFS(dir), "testdata/*.txt")
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			names[i] = filepath.Join(dir, name)
		}
		if len(names) > 0 {
			return names, nil
		}
	}
	return nil, noScenarios(filepath.Join(dir, "testdata", "*.txt"))
}

func noScenarios(pattern string) error {
	return fmt.Errorf("no scenario file matches %s: write one (see berth plugin test --help), or name files with --scenarios", pattern)
}

func (t *pluginTest) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format, args...); t.err == nil {
		t.err = err
	}
}

// note keeps and prints a note.
func (t *pluginTest) note(text string) {
	t.noted = append(t.noted, text)
	t.printf("note  %s\n", text)
}

// report keeps and prints the result of a test.
func (t *pluginTest) report(what string, failed []string) {
	t.done = append(t.done, tested{what, failed})
	if len(failed) == 0 {
		t.printf("ok    %s\n", what)
		return
	}
	t.failed++
	t.printf("FAIL  %s\n", what)
	for _, text := range failed {
		t.printf("      %s\n", strings.ReplaceAll(strings.TrimSpace(plain.Lines(text, maxErrors)), "\n", "\n      "))
	}
}

// runScenarios runs the files against the module. It returns the last trial that had pods,
// and these pods.
func (t *pluginTest) runScenarios(ctx context.Context, files []string) (last *berthtest.Trial, pods []berthtest.Pod) {
	manifest := wire.EncodeManifest(t.module.Manifest)
	for _, file := range files {
		objects := &wholeObjects{context: ctx, scenario: file, note: func(text string) { t.printf("note  %s\n", text) }}
		r := recorded(func(tb testing.TB) {
			trial, tried := berthtest.Scenario(tb, file, manifest, t.module.factory(ctx), berthtest.Options{Rewrite: t.rewrite, Objects: objects})
			if last == nil || len(tried) > 0 {
				last, pods = trial, tried
			}
		})
		t.report("as WebAssembly: "+file, r.failed)
		t.told = append(append(t.told, r.failed...), r.noted...)
		for _, note := range r.noted {
			t.note(note)
		}
		if mute(r.failed, t.module.Manifest, t.dir) {
			t.note("with log in the manifest's host, the plugin says why it stopped")
		}
	}
	if t.failed == 0 && !t.rewrite && t.dir != "" { // of a module alone the scenarios may be a part
		t.tellUnused(ctx, files)
	}
	return last, pods
}

// mute reports whether a plugin trapped and could not say why, in a language whose SDK says it by log.
func mute(failed []string, m *wire.Manifest, dir string) bool {
	return slices.ContainsFunc(failed, func(text string) bool {
		return strings.Contains(text, ": the plugin trapped") && strings.Contains(text, ": unreachable") && !strings.Contains(text, "last output:")
	}) &&
		!slices.Contains(m.Host, abi.HostLog) && dir != "" && slices.Contains([]string{"rust", "assemblyscript"}, languageOf(dir))
}

// checkDuties tests the module against the duties of guests, with the configuration and
// the names in the last scenario, and the project's hints.
func (t *pluginTest) checkDuties(ctx context.Context, last *berthtest.Trial, pods []berthtest.Pod, hints []string) error {
	options := conformance.Options{Config: []byte(last.Config()), Seed: 1, Cycles: t.cycles, Hints: append(hintsOf(last, pods), hints...)}
	report, err := t.module.conforms(ctx, options)
	if err != nil {
		return err
	}
	var failed []string
	if !report.OK() {
		failed = []string{report.Failed()}
	}
	t.report("duties of guests: one instance, fresh instances, and instances that share the nodes", failed)
	return nil
}

// lies is the number of regions with a wrong word.
const lies = 300

// checkHostile tests the module with input that no plugin expects.
func (t *pluginTest) checkHostile(last *berthtest.Trial, pods []berthtest.Pod) {
	if len(pods) == 0 {
		pods = []berthtest.Pod{{Namespace: "default", Name: "pod"}}
	}
	var odd int
	failed := record(func(tb testing.TB) { odd = last.In(tb).Extremes(pods[0]) })
	t.report(fmt.Sprintf("%s: answered", count(odd, "odd cluster")), failed)

	if t.module.code.ExportsName(abi.ExportConfigure) {
		var configs berthtest.Hostile
		failed = record(func(tb testing.TB) { configs = last.In(tb).Configurations() })
		t.report(fmt.Sprintf("%s: %d refused, %d accepted, %d faults",
			count(configs.Refused+configs.Answered+configs.Faults, "invalid configuration"), configs.Refused, configs.Answered, configs.Faults), failed)
	}

	var regions berthtest.Hostile
	failed = record(func(tb testing.TB) { regions = last.In(tb).Lies(pods[0], lies) })
	if n := regions.Answered + regions.Faults; n > 0 || len(failed) > 0 {
		t.report(fmt.Sprintf("%s with a wrong number: %d answered, %d faults, and the same decisions afterwards",
			count(n, "region"), regions.Answered, regions.Faults), failed)
	}
}
