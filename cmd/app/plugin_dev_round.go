package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// Files in the temporary folder of plugin dev.
const (
	builtFile     = "plugin.wasm"
	simulatedFile = "simulated.wasm" // with the names of functions, which the tests have compiled
	configFile    = "config.json"
	clusterFile   = "cluster.json"
)

// A round of plugin dev does less than plugin test.
const (
	devCycles = 4  // pods for each duty
	devNodes  = 12 // of the generated cluster
)

// look builds, tests and simulates the plugin. Its error is that of a build, or of a module that cannot be loaded.
func (d *dev) look(ctx context.Context) (found []finding, err error) {
	var said bytes.Buffer
	built, err := d.build.run(ctx, io.Discard, &said)
	if err != nil {
		return nil, d.inWords(err)
	}
	m, err := openModule(ctx, built.Loaded, built.named, &d.compileOptions)
	if err != nil {
		return nil, d.inWords(err)
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	for line := range strings.Lines(said.String()) {
		found = append(found, finding{kind: noteKind, name: strings.TrimSpace(line)})
	}
	t := &pluginTest{
		pluginTestOptions: &pluginTestOptions{plugin: d.dir, cycles: devCycles, compileOptions: d.compileOptions},
		out:               io.Discard, dir: d.dir, module: m,
	}
	if err := d.test(ctx, t); err != nil {
		return nil, d.inWords(err)
	}
	for _, test := range t.done {
		found = append(found, finding{kind: testKind, name: test.what, value: strings.Join(test.failed, "\n"), failed: len(test.failed) > 0})
	}
	for _, note := range t.noted {
		found = append(found, finding{kind: noteKind, name: note})
	}
	simulated, err := d.simulate(ctx, m, built.named)
	if err != nil {
		return nil, err
	}
	return slices.Concat(found, simulated, []finding{{kind: sizeKind, value: size(int64(len(built.Bytes)))}}), nil
}

// test runs the scenarios and, if they pass, the duties. It keeps what the simulation needs of them.
func (d *dev) test(ctx context.Context, t *pluginTest) error {
	files, err := t.files()
	if err != nil {
		t.report("scenarios", []string{err.Error()})
		return nil
	}
	hints, err := readHints(filepath.Dir(files[0]))
	if err != nil {
		t.report("hints", []string{err.Error()})
	}
	last, pods := t.runScenarios(ctx, files)
	if last != nil { // or else the plugin trapped, and the cluster should not change for that
		// A sample has no other values of a key that KEY=VALUE names, so that all its nodes would be as those of the scenario.
		own := slices.DeleteFunc(hintsOf(last, pods), func(hint string) bool { return strings.Contains(hint, "=") })
		d.scenario, d.hints, d.now = last.Config(), append(own, hints...), last.Now
	}
	if t.failed > 0 {
		return nil
	}
	return t.checkDuties(ctx, last, pods, hints)
}

// simulate simulates a cluster with a plugin, and returns what came of it.
func (d *dev) simulate(ctx context.Context, m *opened, named []byte) ([]finding, error) {
	config := d.scenario
	if d.config != "" {
		text, err := module.ReadConfig(d.config)
		if err != nil {
			return []finding{{kind: testKind, name: "simulation", value: err.Error(), failed: true}}, nil
		}
		config = string(text)
	}
	manifest := wire.EncodeManifest(m.Manifest)
	nodes, sample, err := berthtest.Sample(manifest, devNodes, d.hints)
	if err != nil {
		return nil, err
	}
	cluster, err := asList(nodes, sample)
	if err != nil {
		return nil, err
	}
	reference := filepath.Join(d.temp, simulatedFile)
	for file, data := range map[string][]byte{simulatedFile: named, configFile: []byte(config), clusterFile: cluster} {
		if err := os.WriteFile(filepath.Join(d.temp, file), data, 0o600); err != nil {
			return nil, &failure{err}
		}
	}
	if config != "" && len(m.Manifest.Config) > 0 {
		reference += "?config=" + filepath.Join(d.temp, configFile)
	}
	args := []string{
		"--plugin", reference, "--output", "json", "--log-level", "debug", "--workers", "1", // as many log lines each time
		"--module-cache", d.cache, "--module-cache-size", d.cacheSize, "--compile-time", d.timeLimit.String(),
		"--compile-memory", d.compileMemory,
	}
	if d.now > 0 {
		args = append(args, "--start", time.Unix(d.now, 0).UTC().Format(time.RFC3339))
	}
	for _, path := range d.clusters() {
		args = append(args, "--cluster", path)
	}
	cmd := newSimulate(d.program)
	cmd.PreRunE = nil // settings are those of plugin dev
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, said bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	failedErr := cmd.ExecuteContext(ctx)
	if ctx.Err() != nil {
		return nil, nil // the caller says it
	}
	var result sim.Result
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &result); err != nil {
			return nil, &failure{fmt.Errorf("read the result of the simulation: %w", err)}
		}
	}
	test := finding{kind: testKind, name: "simulation", value: faults(&result)}
	if failedErr != nil {
		test.value = d.named(failedErr.Error())
	}
	test.failed = test.value != ""
	found := append([]finding{test}, placed(&result)...)
	found = append(found, d.logged(said.String())...)
	if !test.failed {
		if m.Config, err = m.CheckConfig(configFile, []byte(cmp.Or(config, "{}"))); err != nil {
			return nil, err
		}
		fuel, err := d.fuelPerPod(ctx, m, nodes, sample)
		if err == nil {
			found = append(found, finding{kind: fuelKind, value: strconv.FormatInt(fuel, 10)})
		}
	}
	return found, nil
}

// clusters returns the files to simulate.
func (d *dev) clusters() []string {
	if len(d.cluster) > 0 {
		return d.cluster
	}
	return []string{filepath.Join(d.temp, clusterFile)}
}

// asList returns a cluster as a file for simulations.
func asList(nodes []berthtest.Node, pods []berthtest.Pod) ([]byte, error) {
	var all []apiruntime.RawExtension
	add := func(o apiruntime.Object) { all = append(all, apiruntime.RawExtension{Object: o}) }
	pod := func(p *berthtest.Pod, node string) {
		made := apiPod(p)
		made.TypeMeta, made.Spec.NodeName = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, node
		add(made)
	}
	for i := range nodes {
		n := &nodes[i]
		made := apiNode(n)
		made.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		add(made)
		for k := range n.Pods {
			pod(&n.Pods[k], n.Name)
		}
	}
	for i := range pods {
		pod(&pods[i], "")
	}
	return json.Marshal(v1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: all})
}

// faults says that calls of modules ended in faults; empty if none did.
func faults(r *sim.Result) string {
	for _, u := range r.Plugins {
		if u.Faults > 0 {
			return fmt.Sprintf("%d of %d calls of %s ended in a fault, the first: %s", u.Faults, u.Calls, u.Name, u.FirstFault)
		}
	}
	return ""
}

// placed returns where the pods of a simulation are.
func placed(r *sim.Result) []finding {
	var found []finding
	for _, p := range r.Placements {
		found = append(found, finding{kind: podKind, name: p.Namespace + "/" + p.Pod, value: "on " + p.Node})
	}
	digest := regexp.MustCompile(` \(module sha256:\w+\)`) // which each build changes
	for _, p := range r.Unschedulable {
		reason, _, _ := strings.Cut(p.Message, " preemption: ") // which follows from the rest
		found = append(found, finding{kind: podKind, name: p.Namespace + "/" + p.Pod, value: "pending: " + digest.ReplaceAllString(reason, "")})
	}
	for _, p := range r.Evicted {
		found = append(found, finding{kind: podKind, name: p.Namespace + "/" + p.Pod, value: "evicted from " + p.Node + " for " + p.For})
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.name, b.name) })
	s := r.Summary
	sum := fmt.Sprintf("%d of %d placed on %s", s.Scheduled, s.Pods, count(s.Nodes, "node"))
	return append(found, finding{kind: podsKind, value: sum})
}

// logged returns the log lines of a simulation, with how often they were there, and its warnings.
func (d *dev) logged(said string) []finding {
	times, found := map[string]int{}, []finding(nil)
	stamp := regexp.MustCompile(`^time=\S+ `)
	for line := range strings.Lines(said) {
		line = d.named(strings.TrimSpace(line))
		if !stamp.MatchString(line) {
			found = append(found, finding{kind: noteKind, name: line})
			continue
		}
		if line = stamp.ReplaceAllString(line, ""); !strings.Contains(line, `msg="plugin fault"`) { // which faults tells
			times[line]++
		}
	}
	for _, line := range slices.Sorted(maps.Keys(times)) {
		found = append(found, finding{kind: logKind, name: line, value: strconv.Itoa(times[line])})
	}
	return found
}

// fuelPerPod returns the fuel for a pod of a sample, as plugin bench does.
func (d *dev) fuelPerPod(ctx context.Context, m *opened, nodes []berthtest.Node, pods []berthtest.Pod) (int64, error) {
	namespaces, err := berthtest.SampleNamespaces(wire.EncodeManifest(m.Manifest), d.hints)
	if err != nil {
		return 0, err
	}
	h, err := newHosted(ctx, m, nodes, pods, namespaces)
	if err != nil {
		return 0, err
	}
	defer h.close(ctx)
	used, _, _ := h.count()
	return used.fuel, nil
}
