package berthtest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

const frailManifest = `{
	"name": "frail", "version": "1.0.0", "abi": "1.1", "points": {"filter": {"scope": "node"}},
	"reads": {"node": ["allocatable", "requested"], "nodeLabels": ["rack", "example.com/zone"], "resources": ["cpu"], "podLabels": ["app"], "pod": ["name"]}, "host": ["log"],
	"config": {"type": "object"}
}`

// frail is a plugin that fails as its mistake says.
type frail struct {
	berth.Base
	mistake string
	rack    berth.NodeLabel
	cpu     berth.Resource
	no      berth.Reason
	racks   map[string]bool // it remembers this, which it must not
}

func newFrail(mistake string) func() *frail {
	return func() *frail {
		b := berth.Load([]byte(frailManifest))
		return &frail{Base: b, mistake: mistake, rack: b.NodeLabel("rack"), cpu: b.Resource("cpu"), no: b.Reason("no"), racks: map[string]bool{}}
	}
}

// Configure requires a closed object.
func (p *frail) Configure(config []byte) error {
	if p.mistake == "traps on a list" && strings.HasPrefix(string(config), "[") {
		panic(&berthtest.Trap{Err: errors.New("a list")})
	}
	if !strings.HasPrefix(string(config), "{") {
		p.Log(berth.Failure, "no object")
		return errors.New("no object")
	}
	return nil
}

// Filter decides by the rack.
func (p *frail) Filter(_ berth.Pod, node berth.Node) berth.Status {
	text := p.Text(node.Label(p.rack))
	switch {
	case p.mistake == "traps without a rack" && text == "", p.mistake == "traps on large numbers" && node.Allocatable(p.cpu) > 1<<60:
		panic(&berthtest.Trap{Err: errors.New(p.mistake)})
	case p.mistake == "slices three bytes" && len(text) > 2 && !utf8.ValidString(text[:3]), p.mistake == "takes the first byte" && node.Label(p.rack) != berth.Absent && text == "":
		panic(&berthtest.Trap{Err: errors.New(p.mistake)})
	case p.mistake == "retries at filter":
		p.RetryAfter(time.Minute)
	case p.mistake == "panics":
		panic(p.mistake)
	case p.mistake == "compares" && p.Snapshot().Nodes().Len() > 1:
		return berth.Unschedulable(p.no)
	case p.mistake == "remembers" && p.racks[text]:
		return berth.Unschedulable(p.no)
	case p.mistake == "mute":
		return berth.Unschedulable(0)
	}
	p.racks[text] = true
	return berth.Success
}

// boxed converts panics to traps, as in a module.
type boxed struct{ *berth.Native }

func (b boxed) Call(export string, call, lo, hi uint32) int32 {
	defer func() {
		if r := recover(); r != nil {
			panic(&berthtest.Trap{Err: fmt.Errorf("%v", r)})
		}
	}()
	return b.Native.Call(export, call, lo, hi)
}

func frailTrial(tb testing.TB, mistake string) *berthtest.Trial {
	trial := berthtest.New(tb, []byte(frailManifest), func(host berth.Host) berthtest.Guest { return boxed{berth.NewNative(newFrail(mistake)(), host)} }, "")
	trial.Nodes = []berthtest.Node{{Name: "a", Labels: map[string]string{"rack": "r-1"}}, {Name: "b", Labels: map[string]string{"rack": "r-2"}}}
	return trial
}

// recorded runs f as a test, and returns its report.
func recorded(t *testing.T, f func(tb testing.TB)) string {
	r, done := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return strings.Join(r.errors, "\n")
}

// TestExtremes: a plugin that always answers passes, and a trap is reported with its cluster.
func TestExtremes(t *testing.T) {
	for mistake, want := range map[string]string{
		"": "", "traps without a rack": "ns/pod in a cluster of a node without anything: the plugin trapped: traps without a rack",
		"traps on large numbers": "ns/pod in a cluster of the largest numbers: the plugin trapped: traps on large numbers",
		"slices three bytes":     "ns/pod in a cluster of texts that are not ASCII: the plugin trapped: slices three bytes",
		"takes the first byte":   "ns/pod in a cluster of empty texts: the plugin trapped: takes the first byte",
	} {
		n := 0
		got := recorded(t, func(tb testing.TB) { n = frailTrial(tb, mistake).Extremes(berthtest.Pod{Namespace: "ns", Name: "pod"}) })
		if got != want || (n > 0) != (want == "") {
			t.Errorf("%s: %d clusters, %q", mistake, n, got)
		}
	}
}

// TestConfigurations: the results of invalid configurations are counted.
func TestConfigurations(t *testing.T) {
	h := frailTrial(t, "traps on a list").Configurations()
	if h.Faults != 2 || h.Refused == 0 || h.Answered == 0 || h.Faults+h.Refused+h.Answered != 18 {
		t.Errorf("got %+v", h)
	}
}

// TestLies: a plugin that keeps nothing from a wrong region passes, one that does fails.
func TestLies(t *testing.T) {
	pod := berthtest.Pod{Namespace: "ns", Name: "pod"}
	var h berthtest.Hostile
	if got := recorded(t, func(tb testing.TB) { h = frailTrial(tb, "").Lies(pod, 40) }); got != "" || h.Answered+h.Faults != 40 {
		t.Errorf("got %+v, %s", h, got)
	}
	got := recorded(t, func(tb testing.TB) { frailTrial(tb, "remembers").Lies(pod, 40) })
	if !strings.Contains(got, "instead of") || !strings.Contains(got, "the plugin decides\nSuccess\na Unschedulable: no") {
		t.Errorf("a plugin that remembers: %s", got)
	}
	empty := frailTrial(t, "")
	empty.Nodes = nil
	if h := empty.Lies(pod, 40); h.Answered+h.Faults != 40 {
		t.Errorf("without nodes: %+v", h)
	}
}

// TestScenario: a file outside a test; failures are reported with their lines.
func TestScenario(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nodes.txt")
	run := func(mistake, text string) (trial *berthtest.Trial, pods []berthtest.Pod, failed string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		failed = recorded(t, func(tb testing.TB) {
			trial, pods = berthtest.Scenario(tb, file, []byte(frailManifest), berthtest.Native(newFrail(mistake)), berthtest.Options{})
		})
		return trial, pods, failed
	}
	const good = "config {\"a\": 1}\nnode a labels=rack:r\n\ntry ns/web\n----\na Success 0\n\nconfig []\n----\nconfiguration refused: expected an object, found a list\n"
	trial, pods, failed := run("", good)
	if failed != "" || trial.Config() != `{"a": 1}` || len(trial.Nodes) != 1 || len(pods) != 1 || pods[0].Name != "web" {
		t.Errorf("got %v, %v, %s", trial, pods, failed)
	}
	if _, _, failed = run("traps without a rack", "node a\ntry ns/web\n----\na Success 0\n"); failed != file+":2: the plugin trapped: traps without a rack" {
		t.Errorf("a plugin that traps: %s", failed)
	}
	if _, _, failed = run("", "node a\nnode b\ntry ns/web\n----\na Success 1\n"); !strings.HasPrefix(failed, file+":3: got\na Success 0\nb Success 0\nwant\n") {
		t.Errorf("another answer: %s", failed)
	}
	if _, _, failed = run("remembers", "node a\nnode b\ntry ns/web\n"); !strings.HasPrefix(failed, file+":3: ") {
		t.Errorf("a plugin that remembers: %s", failed)
	}
	if _, _, failed = run("", "frobnicate\n"); !strings.HasPrefix(failed, file+":1: unknown command: frobnicate; ") {
		t.Errorf("an unknown line: %s", failed)
	}
}

// TestSample: the same arguments give the same cluster, which has what the manifest reads, with
// texts from the hints.
func TestSample(t *testing.T) {
	nodes, pods, err := berthtest.Sample([]byte(frailManifest), 50, []string{"gold"})
	if err != nil || len(nodes) != 50 || len(pods) != 64 {
		t.Fatalf("%d nodes, %d pods, %v", len(nodes), len(pods), err)
	}
	var racks []string
	for _, n := range nodes {
		racks = append(racks, n.Labels["rack"])
		if len(n.Pods) != 3 || n.Allocatable["cpu"] == 0 || n.Pods[0].Labels["app"] == "" {
			t.Errorf("node %s has %d pods, %v", n.Name, len(n.Pods), n.Allocatable)
		}
	}
	slices.Sort(racks)
	if racks = slices.Compact(racks); !slices.Contains(racks, "gold") || slices.Contains(racks, "") || len(racks) < 2 {
		t.Errorf("racks are %q", racks)
	}
	again, _, err := berthtest.Sample([]byte(frailManifest), 50, []string{"gold"})
	if err != nil || again[17].Pods[2].Requests["cpu"] != nodes[17].Pods[2].Requests["cpu"] {
		t.Error("another sample")
	}
	nodes, _, err = berthtest.Sample([]byte(frailManifest), 50, []string{"rack=red", "rack=blue", "shelf=one"})
	red, apps := map[string]bool{}, map[string]bool{}
	for _, n := range nodes {
		red[n.Labels["rack"]], apps[n.Pods[0].Labels["app"]] = true, true
	}
	if err != nil || len(red) != 2 || !red["red"] || !red["blue"] || !apps["shelf=one"] || apps["red"] {
		t.Errorf("hints with keys: racks %v, apps %v, %v", red, apps, err)
	}
	if _, _, err := berthtest.Sample([]byte("{"), 1, nil); err == nil {
		t.Error("an invalid manifest is accepted")
	}
	if !berthtest.Measurable([]byte(frailManifest)) || berthtest.Measurable([]byte(strings.Replace(frailManifest, `"filter": {"scope": "node"}`, `"bind": {}`, 1))) {
		t.Error("what is measurable")
	}
}
