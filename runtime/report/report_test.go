package report_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// TestNoFit compares messages with kube-scheduler's words.
func TestNoFit(t *testing.T) {
	for _, c := range []struct {
		nodes                 int
		preFilter, postFilter string
		reasons               map[string]int
		want                  string
	}{
		{5, "", "", map[string]int{"Insufficient cpu": 3, "node(s) were unschedulable": 2},
			"0/5 nodes are available: 2 node(s) were unschedulable, 3 Insufficient cpu."},
		{12, "", "", map[string]int{"b": 10, "a": 2}, "0/12 nodes are available: 10 b, 2 a."}, // sorted as text
		{3, "", "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.", map[string]int{"x": 3},
			"0/3 nodes are available: 3 x. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."},
		{3, "no claim", "", map[string]int{"no claim": 3}, "0/3 nodes are available: no claim."},
		{3, "no claim", "not helpful", nil, "0/3 nodes are available: no claim. not helpful"},
		{1, "", "", nil, "0/1 nodes are available:"},
		{1, "", "after", nil, "0/1 nodes are available: after"},
	} {
		if got := report.NoFit(c.nodes, c.preFilter, c.reasons, c.postFilter); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func attempt() *report.Attempt {
	return &report.Attempt{
		Sequence: 1, Namespace: "ns", Pod: "p", Profile: "default", Try: 2, Nodes: 3, Evaluated: 3, Feasible: 1, Node: "c",
		Rejections: []report.Rejection{{Plugin: "F", Code: abi.Unschedulable, Reasons: []string{"full"}, Count: 2, Rows: []uint32{1, 0}}},
		Candidates: []report.Candidate{{
			Node: "c", Total: 7, Scores: []report.Score{{Plugin: "S", Raw: 1, Normalized: 7, Weighted: 7}},
			Feeds: []report.FeedValue{{Plugin: "S", Feed: "load:milli", Value: 300, State: abi.FeedStale, At: 1000}},
		}},
		Timings:  []report.Timing{{Plugin: "F", Calls: 1}},
		Duration: time.Second,
	}
}

// TestClone: changes to the original do not affect its clone.
func TestClone(t *testing.T) {
	a := attempt()
	names := func(row uint32) string { return string(rune('b' - row)) } // row 0 is b, row 1 is a
	c := a.Clone(names)
	before := fmt.Sprintf("%+v", *c)
	a.Rejections[0].Rows[0] = 9
	a.Rejections[0].Plugin = "X"
	a.Candidates[0].Scores[0].Plugin = "X"
	a.Candidates[0].Feeds[0].Value = 99
	a.Candidates[0].Node = "X"
	a.Timings[0].Calls = 99
	if after := fmt.Sprintf("%+v", *c); after != before {
		t.Errorf("the clone changed\nfrom %s\nto   %s", before, after)
	}
	if r := c.Rejections[0]; r.Nodes[0] != "a" || r.Nodes[1] != "b" {
		t.Errorf("nodes %v, want them sorted", r.Nodes)
	}
}

// TestJSON checks what users of `-o json` see.
func TestJSON(t *testing.T) {
	text, err := json.Marshal(attempt().Clone(func(row uint32) string { return fmt.Sprint("n", row) }))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"sequence":1,"namespace":"ns","pod":"p","profile":"default","try":2,"nodes":3,"evaluated":3,"feasible":1,"node":"c",` +
		`"rejections":[{"plugin":"F","code":"Unschedulable","reasons":["full"],"count":2,"nodes":["n0","n1"]}],` +
		`"candidates":[{"node":"c","total":7,"scores":[{"plugin":"S","raw":1,"normalized":7,"weighted":7}],` +
		`"feeds":[{"plugin":"S","feed":"load:milli","value":300,"state":2,"at":1000}]}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestShortenedFeeds: what feeds said is left out first, of the copy only.
func TestShortenedFeeds(t *testing.T) {
	a := attempt()
	const most = 2 * report.MaxMessage
	a.Candidates[0].Feeds = make([]report.FeedValue, most)
	if a.Size() <= most {
		t.Fatalf("%d values of feeds count %d bytes", most, a.Size())
	}
	c := a.Shortened(most)
	if len(c.Candidates[0].Feeds) > 0 || len(c.Candidates[0].Scores) != 1 || len(c.Rejections) != 1 || c.Rejections[0].Plugin != "F" {
		t.Errorf("%+v", c)
	}
	if len(a.Candidates[0].Feeds) != most {
		t.Error("the original was changed")
	}
}

func TestTimingAdd(t *testing.T) {
	a := report.Timing{Plugin: "A", Calls: 1, Rows: 2, Faults: 3, Duration: 4}
	a.Add(report.Timing{Plugin: "B", Calls: 10, Rows: 20, Faults: 30, Duration: 40})
	if want := (report.Timing{Plugin: "A", Calls: 11, Rows: 22, Faults: 33, Duration: 44}); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
}
