package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/state"
)

func reader(t *testing.T) *record.Reader {
	t.Helper()
	text, err := os.ReadFile("testdata/day.txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRead: what others did is taken from a recording, with its times, and what followed from decisions is
// not.
func TestRead(t *testing.T) {
	d, err := read(reader(t), assembly.NewModules(assembly.ModulesConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range d.pods {
		a := p.arrival
		fmt.Fprintf(&b, "arrival %s/%s at=%v until=%v runs=%v attempts=%v recorded=%s evicted=%v\n",
			a.Pod.Namespace, a.Pod.Name, a.At, a.Until, a.Runs, p.numbers, p.node, p.evicted)
	}
	for _, c := range d.changes {
		text, err := inbox.Format(c.Event)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%v %s\n", c.At, text)
	}
	golden.Check(t, "testdata/day.golden", []byte(b.String()))
}

// TestRun: the recording is tried with its own configuration, in which nothing moves, and without the filter
// that enforces requests.
func TestRun(t *testing.T) {
	try := func(change func(a *assembly.Config)) *Report {
		t.Helper()
		modules := assembly.NewModules(assembly.ModulesConfig{})
		defer func() { _ = modules.Close(t.Context()) }()
		r, err := Run(t.Context(), reader(t), Config{
			Modules: modules, Workers: 1, Change: func(a assembly.Config) (assembly.Config, error) {
				change(&a)
				return a, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := try(func(*assembly.Config) {}); len(r.Moves) > 0 || r.Recording.Pods != 5 || !r.ByTime || len(r.SamplesBefore) != moments {
		t.Errorf("%+v", r)
	}
	r := try(func(a *assembly.Config) {
		for i := range a.Scheduler.Profiles {
			points := a.Scheduler.Profiles[i].Points
			for j, p := range points["filter"] {
				if p.Name == "NodeResourcesFit" {
					points["filter"] = slices.Delete(points["filter"], j, j+1)
					break
				}
			}
		}
	})
	r.SamplesBefore, r.SamplesAfter = nil, nil
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/report.golden", append(text, '\n'))
}

// TestNotClosed: the report says with the words of berth replay what may be missing of a recording that was not closed, and in what
// way the recording is not exact.
func TestNotClosed(t *testing.T) {
	text, err := os.ReadFile("testdata/day.txt")
	if err != nil {
		t.Fatal(err)
	}
	open := strings.TrimSuffix(string(text), "end\n")
	open = strings.Replace(open, " config=", " lacks=\"it is a test\" config=", 1)
	r, err := record.NewReader(strings.NewReader(open))
	if err != nil {
		t.Fatal(err)
	}
	modules := assembly.NewModules(assembly.ModulesConfig{})
	defer func() { _ = modules.Close(t.Context()) }()
	got, err := Run(t.Context(), r, Config{
		Modules: modules, Workers: 1, Change: func(a assembly.Config) (assembly.Config, error) { return a, nil },
	})
	if err != nil || !got.Recording.Cut || !slices.Contains(got.Notes, record.ErrCut.Error()+".") || !slices.Contains(got.Notes, "The recording cannot be repeated exactly: it is a test.") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestEdited: objects that no API server would take end nothing.
func TestEdited(t *testing.T) {
	text, err := os.ReadFile("testdata/day.txt")
	if err != nil {
		t.Fatal(err)
	}
	claim := `{"metadata":{"name":"c","namespace":"shop","uid":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"d","allocationMode":"ExactCount","count":-9}}]}}}`
	pod := `{"metadata":{"name":"p","namespace":"shop","uid":"p"},"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c"}],"resourceClaims":[{"name":"r","resourceClaimName":"c"}]}}`
	end := "object DeviceClass object=`{\"metadata\":{\"name\":\"d\"}}`\nobject ResourceClaim object=`" + claim + "`\npods objects=`[" + pod + "]`\nend\n"
	r, err := record.NewReader(strings.NewReader(strings.TrimSuffix(string(text), "end\n") + end))
	if err != nil {
		t.Fatal(err)
	}
	modules := assembly.NewModules(assembly.ModulesConfig{})
	defer func() { _ = modules.Close(t.Context()) }()
	_, err = Run(t.Context(), r, Config{Modules: modules, Workers: 1, Change: func(a assembly.Config) (assembly.Config, error) {
		a.Scheduler = assembly.Default()
		return a, nil
	}})
	if err != nil {
		t.Error(err)
	}
}

// TestHTML: hostile names are text in the page, which has no scripts, and nothing that cannot be seen.
func TestHTML(t *testing.T) {
	hostile := "<script>alert(\"x\")</script>\x1b[31m\u202e\u2066"
	sample := func(x, share float64) Sample { return Sample{X: x, Resources: []ResourceState{{Requested: share}}} }
	totals := Totals{Resources: []Resource{{Resource: v1.ResourceName(hostile)}}}
	r := &Report{
		Before: totals, After: totals, Changes: map[Change]int{Elsewhere: 1}, Notes: []string{hostile},
		Moves:         []Move{{Namespace: hostile, Pod: hostile, Change: Elsewhere, Recorded: hostile, Before: Fate{Node: hostile, Why: hostile}, After: Fate{Node: hostile, Why: hostile}}},
		SamplesBefore: []Sample{sample(0, 0), sample(10, 50)}, SamplesAfter: []Sample{sample(0, 0), sample(10, 100)}, ByTime: true,
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.ContainsAny(text, "\x1b\u202e\u2066") || strings.Contains(text, "<script") || strings.Count(text, "&lt;script&gt;") < 8 {
		t.Errorf("%s", text)
	}
	for _, want := range []string{`d="M48.0 170.0L468.0 90.0"`, `d="M48.0 170.0L468.0 10.0"`, "1 elsewhere.", ">10s<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestMeasure: of three nodes with 4 CPUs one is full, one has 1 CPU left, where typical pods do not fit, and one
// is empty.
func TestMeasure(t *testing.T) {
	d, err := read(reader(t), assembly.NewModules(assembly.ModulesConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	s := shapesOf(d)
	if len(s.all) != 4 || s.all[0].pods != 2 || s.all[0].requests.MilliCPU != 3000 || len(s.resources) != 1 {
		t.Fatalf("%+v", s)
	}
	s.all = []shape{{state.Resources{MilliCPU: 3000, Pods: 1}, 3}, {state.Resources{MilliCPU: 1000, Pods: 1}, 1}, {state.Resources{Memory: 1, Pods: 1}, 9}}
	has := state.Resources{MilliCPU: 4000, Memory: 1, Pods: 10}
	var nodes []*usedNode
	for _, requested := range []int64{4000, 3000, 0} {
		nodes = append(nodes, &usedNode{&state.Node{Allocatable: has}, state.Resources{MilliCPU: requested}})
	}
	// Three of four pods with requests of CPU do not fit where 1 CPU of 12 is left.
	if got, want := s.of(v1.ResourceCPU, nodes), (ResourceState{Requested: 58.33, Fragmented: 6.25, Deviation: 42.49}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.of("example.com/gpu", nodes); got != (ResourceState{}) {
		t.Errorf("%+v", got)
	}
}
