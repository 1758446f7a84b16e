package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The languages of guests, and the subjects besides their SDKs.
const (
	golang         = "go"
	rust           = "rust"
	inC            = "c"
	assemblyscript = "assemblyscript"

	plugins = "plugins" // the example plugins in C, which are compiled fastest
	host    = "host"
)

func subjects() []string { return []string{plugins, golang, rust, inC, assemblyscript, host} }

// languageOf returns the language of the file with the mistake.
func languageOf(subject string) string {
	if subject == plugins {
		return inC
	}
	return subject
}

// guest is a plugin that exists in several languages. Without a mistake it passes everything.
type guest struct {
	name     string
	folder   string // in the repository, by way of the language
	manifest string
	// config is the text of its configuration, or the name of a file of configs.
	config string
	// hints are given to the kit one list after the other.
	hints [][]string
	// traps is a hint that makes it trap, says what is shown of it then.
	traps, says string
	// scenarios is a pattern of files, or empty.
	scenarios string
	// only is the one duty that it fulfils: the vectors' guest does all in berth_configure.
	only string
}

// guests returns the plugins of a language, those first that have the most of an SDK.
func guests(language string) []guest {
	example := func(name, folder, config string, hints ...[]string) guest {
		in := folder + "/" + language
		if language == golang {
			in = folder
		}
		return guest{name: name, folder: in, manifest: folder + "/manifest.json", config: config, hints: hints, scenarios: folder + "/testdata/*.txt"}
	}
	reference := map[string]string{golang: "guestcsr"}[language]
	if reference == "" {
		reference = language + "/csr"
	}
	out := []guest{
		everypoint(example),
		example("noisy-neighbour", "wasm-examples/noisyneighbour", `{"podsPerTenant": 3, "noisyPods": 2, "noisyMilliCPU": 2500, "exempt": ["ns-4"]}`, []string{"true"}),
		example("tenant-pool", "wasm-examples/tenantpool",
			`{"tenants": {"team-a": {"pools": ["p-0", "p-1"], "fallback": true}, "ns-1": {"pools": ["p-2"]}}, "shared": ["p-3", "p-4"], "others": "shared"}`),
		{
			name: "reference", folder: "wasm-examples/internal/reference/" + reference, manifest: "wasm-examples/internal/reference/manifest-csr.json",
			scenarios: "wasm-examples/internal/reference/testdata/csr.txt",
		},
	}
	vectors := map[string]string{inC: "abi/sdk/c/tests", assemblyscript: "abi/sdk/assemblyscript/tests/vectors"}[language]
	if vectors != "" {
		out = append(out, guest{name: "vectors", folder: vectors, manifest: "abi/sdk/c/tests/vectors.json", config: "vectors", only: "an instance can be made"})
	}
	if language == inC {
		out = append(out, example("best-fit", "wasm-examples/fgd/bestfit", ""))
	}
	return out
}

// everypoint returns the plugin that has every point. Its second list of hints has more reasons than a call may have, and
// more bytes of them; with the third one most pods come as far as post_bind.
func everypoint(example func(name, folder, config string, hints ...[]string) guest) guest {
	const at = "everypoint.berth.dev/"
	g := example("everypoint", "wasm-examples/internal/everypoint", "",
		[]string{"* unschedulable no", "* 7", "* -5", "reverse", "set k {uid}", "log {state:k}", "error e", "only node-0 node-1", "-5", "true", "1", "long", "wait 5s", "wait 70ms", "on node-0"},
		[]string{
			at + "filter=* unschedulable {node}", at + "filter=all unschedulable full", at + "filter=* unschedulable {node} is not for the pod with the UID {uid}, " +
				"whose annotation has this text, which is longer than any that people would like to read",
		},
		[]string{
			at + "pre-enqueue=unschedulable {uid}", at + "hint=on node-0", at + "pre-filter=set k {uid}", at + "filter=* success", at + "pre-score=log {state:k}",
			at + "score=* 7", at + "score=node-0 90", at + "normalize=reverse", at + "reserve=annotate " + at + "seen {node}", at + "permit=wait 5s", at + "permit=wait 70ms",
			at + "pre-bind=label " + at + "seen yes", at + "bind=bind", at + "post-bind=activate {uid}",
		})
	g.traps, g.says = "everypoint.berth.dev/reserve=trap", "everypoint: trap"
	return g
}

// configs writes the configurations of plugins.
func (w *work) configs() error {
	for _, language := range subjects()[1:] {
		for _, g := range guests(language) {
			if err := os.WriteFile(w.configOf(&g), []byte(g.config), 0o600); err != nil {
				return err
			}
		}
	}
	all := map[string]json.RawMessage{}
	for _, name := range []string{"regions", "pods", "json"} {
		text, err := os.ReadFile(filepath.Join(w.top, "abi", "vectors", name+".json"))
		if err != nil {
			return err
		}
		all[name] = text
	}
	text, err := json.Marshal(all)
	return errors.Join(err, os.WriteFile(w.configOf(&guest{name: "vectors"}), text, 0o600))
}

func (w *work) configOf(g *guest) string { return filepath.Join(w.folder, g.name+".json") }

// build builds a guest.
func (w *work) build(ctx context.Context, language string, g *guest, root string, env []string) error {
	env = append(env, "CARGO_TARGET_DIR="+filepath.Join(w.folder, "target"))
	at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	out, failed, err := w.run(ctx, root, env, w.berth, "plugin", "build", at(g.folder), "--manifest", at(g.manifest), "-o", w.module())
	if failed {
		err = fmt.Errorf("%w: %s in %s:\n%s", errBuild, g.name, language, out)
	}
	return err
}

var errBuild = errors.New("does not compile")

// rightOne returns the module of a guest without a mistake, and checks that it passes.
func (w *work) rightOne(ctx context.Context, language string, g *guest) ([]byte, error) {
	key := language + " " + g.name
	if code, ok := w.right[key]; ok {
		return code, nil
	}
	root, env := w.root(language), []string(nil)
	if language != golang {
		root = w.top // the tree has the mistake
	}
	if err := w.build(ctx, language, g, root, env); err != nil {
		return nil, fmt.Errorf("without a mistake, it %s", err.Error()) // not errBuild: no mistake was found
	}
	if by, says := w.check(ctx, g, w.module()); by != "" {
		return nil, fmt.Errorf("%s in %s fails without a mistake: %s: %s", g.name, language, by, says)
	}
	code, err := os.ReadFile(w.module())
	w.right[key] = code
	return code, err
}

var (
	failedDuty = regexp.MustCompile(`(?m)^FAIL  (.*?) \(ABI`)
	failedTest = regexp.MustCompile(`(?m)^FAIL  (.*)`)
)

// check runs the kit and the scenarios with a module, and returns what failed.
func (w *work) check(ctx context.Context, g *guest, module string) (by, says string) {
	named := module
	if g.config != "" {
		named += "?config=" + w.configOf(g)
	}
	cache := "--module-cache=" + filepath.Join(w.folder, "modules")
	conform := func(args ...string) (out string, failed bool, err error) {
		return w.run(ctx, w.top, nil, w.berth, append([]string{"plugin", "conformance", named, cache}, args...)...)
	}
	if g.only != "" {
		out, _, err := conform("--cycles=1")
		if err != nil || !strings.Contains(out, "FAIL  "+g.only) {
			return "", ""
		}
		return "plugin conformance", g.name + ": " + g.only
	}
	hints := g.hints
	if len(hints) == 0 {
		hints = [][]string{nil}
	}
	for _, list := range hints {
		var args []string
		for _, hint := range list {
			args = append(args, "--hint="+hint)
		}
		out, failed, err := conform(args...)
		if err != nil {
			return "", ""
		}
		if failed {
			says = lastLine(out)
			if duty := failedDuty.FindStringSubmatch(out); duty != nil {
				says = duty[1]
			}
			return "plugin conformance", g.name + ": " + says
		}
	}
	if g.traps != "" {
		if out, failed, err := conform("--hint="+g.traps, "--cycles=8"); err != nil || !failed || !strings.Contains(out, g.says) {
			return "plugin conformance", g.name + ": what it says before it traps"
		}
	}
	if g.scenarios == "" {
		return "", ""
	}
	out, failed, err := w.run(ctx, w.top, nil, w.berth, "plugin", "test", module, cache, "--wasm-only", "--scenarios="+filepath.Join(w.top, filepath.FromSlash(g.scenarios)))
	if err != nil || !failed {
		return "", ""
	}
	says = lastLine(out)
	if m := failedTest.FindStringSubmatch(out); m != nil {
		says = strings.ReplaceAll(m[1], w.top+string(filepath.Separator), "")
	}
	return "plugin test", g.name + ": " + says
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
