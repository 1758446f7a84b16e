package main

import (
	"cmp"
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
// more bytes of them; with the third one most pods come as far as post_bind; with the last one a pod is annotated with all that the
// SDK reads of it, its node and the namespaces.
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
		},
		[]string{
			at + "pre-filter=set k {sight}", at + "filter=* success", at + "score=* 7", at + "reserve=annotate " + at + "seen {sight}",
			at + "permit=wait 5s", at + "pre-bind=annotate " + at + "seen {state:k}",
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

// rightOne returns the module of a guest without a mistake.
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
	code, err := os.ReadFile(w.module())
	w.right[key] = code
	return code, err
}

// rightPasses checks that a guest without a mistake passes the trial that a mistake failed.
func (w *work) rightPasses(ctx context.Context, language string, g *guest, i int) error {
	key := fmt.Sprintf("%s %s %d", language, g.name, i)
	if w.passed[key] {
		return nil
	}
	code, err := w.rightOne(ctx, language, g)
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.module(), code, 0o600); err != nil {
		return err
	}
	t := w.trials(g)[i]
	says, err := t.run(ctx, w.module())
	if says != "" {
		err = fmt.Errorf("%s in %s fails without a mistake: %s: %s", g.name, language, t.by, says)
	}
	w.passed[key] = err == nil
	return err
}

// trial is one run of the kit, or the scenarios, with a module; run returns what failed, or nothing.
type trial struct {
	by   string
	run  func(ctx context.Context, module string) (says string, err error)
	slow bool // tried after the quick ones of all guests
}

// few is how many cycles find most mistakes, in a tenth of the time of all.
const few = "--cycles=8"

var (
	failedDuty = regexp.MustCompile(`(?m)^FAIL  (.*?) \(ABI`)
	failedTest = regexp.MustCompile(`(?m)^FAIL  (.*)`)
)

// trials returns what a guest must pass, the quick ones first.
func (w *work) trials(g *guest) (out []trial) {
	if g.only != "" {
		return []trial{w.conformance(g, g.only, func(out string, _ bool) bool { return !strings.Contains(out, "FAIL  "+g.only) }, "--cycles=1")}
	}
	passes := func(_ string, failed bool) bool { return !failed }
	hints := g.hints
	if len(hints) == 0 {
		hints = [][]string{nil}
	}
	var whole []trial
	for _, list := range hints {
		var args []string
		for _, hint := range list {
			args = append(args, "--hint="+hint)
		}
		out = append(out, w.conformance(g, "", passes, append(args, few)...))
		all := w.conformance(g, "", passes, args...)
		all.slow = true
		whole = append(whole, all)
	}
	if g.traps != "" {
		traps := func(out string, failed bool) bool { return failed && strings.Contains(out, g.says) }
		out = append(out, w.conformance(g, "what it says before it traps", traps, "--hint="+g.traps, "--cycles=16"))
	}
	if g.scenarios != "" {
		out = append(out, trial{by: "plugin test", run: func(ctx context.Context, module string) (string, error) { return w.scenarios(ctx, g, module) }})
	}
	return append(out, whole...)
}

// conformance returns a run of the kit. right says whether what it printed is what a plugin without a mistake has, and what
// names what is wrong otherwise; if it is empty, the report does.
func (w *work) conformance(g *guest, what string, right func(out string, failed bool) bool, args ...string) trial {
	return trial{by: "plugin conformance", run: func(ctx context.Context, module string) (string, error) {
		if g.config != "" {
			module += "?config=" + w.configOf(g)
		}
		out, failed, err := w.run(ctx, w.top, nil, w.berth, append([]string{"plugin", "conformance", module, w.cache()}, args...)...)
		if err != nil || right(out, failed) {
			return "", err
		}
		says := cmp.Or(what, lastLine(out))
		if duty := failedDuty.FindStringSubmatch(out); duty != nil && what == "" {
			says = duty[1]
		}
		return g.name + ": " + says, nil
	}}
}

// scenarios runs a guest's scenarios.
func (w *work) scenarios(ctx context.Context, g *guest, module string) (says string, err error) {
	pattern := "--scenarios=" + filepath.Join(w.top, filepath.FromSlash(g.scenarios))
	out, failed, err := w.run(ctx, w.top, nil, w.berth, "plugin", "test", module, w.cache(), "--cycles", "20", "--wasm-only", pattern)
	if err != nil || !failed {
		return "", err
	}
	says = lastLine(out)
	if m := failedTest.FindStringSubmatch(out); m != nil {
		says = strings.ReplaceAll(m[1], w.top+string(filepath.Separator), "")
	}
	return g.name + ": " + says, nil
}

func (w *work) cache() string { return "--module-cache=" + filepath.Join(w.folder, "modules") }

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
