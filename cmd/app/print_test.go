package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/table"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
)

func TestGroupsByReasonsWithoutCounts(t *testing.T) {
	pods := []sim.Pending{
		{Namespace: "a", Pod: "1", Message: "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable."},
		{Namespace: "a", Pod: "2", Message: "0/12 nodes are available: 12 Insufficient cpu."},
		{Namespace: "a", Pod: "3", Message: "0/14 nodes are available: 11 node(s) were unschedulable, 3 Insufficient cpu."},
		{Namespace: "a", Pod: "4", Message: "waiting for scheduling gates: [x]"},
		{Namespace: "a", Pod: "5", Message: "waiting for scheduling gates: [y]"},
		{Namespace: "a", Pod: "6", Message: "waiting for scheduling gates: [x]"},
		{Namespace: "a", Pod: "7", Message: "0/12 nodes are available: 12 Insufficient example.com/h-100."},
		{Namespace: "a", Pod: "8", Message: "0/12 nodes are available: 12 Insufficient example.com/h-200."},
		{Namespace: "a", Pod: "9", Message: ""},
		{Namespace: "b", Pod: "1", Message: "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 1 A, 2 B."},
		{Namespace: "b", Pod: "2", Message: "0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available: 2 B, 2 A."},
		{Namespace: "b", Pod: "3", Message: "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 B."},
		{Namespace: "c", Pod: "1", Message: "0/3 nodes are available: 1 Y, 2 X. preemption: 0/3 nodes are available: 3 B."},
		{Namespace: "c", Pod: "2", Message: "0/3 nodes are available: 1 X, 2 Y. preemption: 0/3 nodes are available: 3 B."},
	}
	var got []string
	for _, g := range groupPending(pods) {
		got = append(got, fmt.Sprintf("%d %s %t", len(g.names), g.names[0], g.others))
	}
	const want = "2 a/1 true, 2 a/4 false, 2 b/1 true, 2 c/1 true, 1 a/2 false, 1 a/5 false, 1 a/7 false, 1 a/8 false, 1 a/9 false, 1 b/3 false"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("groups are %s, want %s", s, want)
	}
}

func TestManyGroupsAreCut(t *testing.T) {
	var pods []sim.Pending
	for i := range maxGroups + 3 {
		for j := range 6 {
			pods = append(pods, sim.Pending{Namespace: "n", Pod: fmt.Sprintf("p-%d-%d", i, j), Message: fmt.Sprintf("reason %c", 'a'+i)})
		}
	}
	var b bytes.Buffer
	p := &printer{w: &b, width: 80}
	p.pending(pods)
	out := b.String()
	for _, want := range []string{"138 pods not placed:", "\n   6  n/p-0-0   reason a\n      n/p-0-1\n      n/p-0-2\n      … 3 more\n", "… and 18 pods for 3 other reasons."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

// Tables fit the width where their unbreakable columns allow it, lose no word, and
// have no trailing space.
func TestTable(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zö…]{1,12}`)
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 1, 12).Draw(t, "words"), rapid.SampledFrom([]string{" ", "\n"}).Draw(t, "separator"))
		})
		columns := []column{{head: "N", numbers: true}, {head: "ONE", least: 12}, {head: "TWO", least: 14}}
		var rows []table.Row
		words := 0
		for i := range rapid.IntRange(1, 5).Draw(t, "rows") {
			one, two := text.Draw(t, "one"), text.Draw(t, "two")
			words += 1 + len(strings.Fields(one)) + len(strings.Fields(two))
			rows = append(rows, table.Row{i, one, two})
		}
		width := rapid.IntRange(1+2+12+2+14, 150).Draw(t, "width")
		var b bytes.Buffer
		p := &printer{w: &b, width: width}
		p.table(columns, rows)
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > width || strings.HasSuffix(line, " ") {
				t.Fatalf("width %d: %q", width, line)
			}
		}
		if got := len(strings.Fields(b.String())) - 3; got != words {
			t.Fatalf("%d words came out of %d:\n%s", got, words, b.String())
		}
	})
}

func TestWrapKeepsLinesAndBreaksLongWords(t *testing.T) {
	const want = "ab cd\nefghi\njkl\n\nm"
	if got := wrap("ab cd efghijkl\n\nm", 5); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSecondsHaveThreeDigits(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0.00 µs", 1.71e-7: "0.17 µs", 2.5e-5: "25.0 µs", 0.9999e-3: "1.00 ms", 0.0123: "12.3 ms", 0.9994: "999 ms",
		0.9999: "1.00 s", 1.555: "1.55 s", 12.34: "12.3 s", 99.96: "100 s", 5000: "5000 s",
	} {
		if got := seconds(in); got != want {
			t.Errorf("%v s is written %q, want %q", in, got, want)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"simulate", "--cluster", "testdata/cluster"}, {"simulate", "--cluster", "testdata/cluster", "-o", "json"}} {
		var stderr bytes.Buffer
		if status := run(t.Context(), args, brokenPipe{}, &stderr); status == exitOK || !strings.Contains(stderr.String(), "broken pipe") {
			t.Errorf("%v: status %d, stderr %q", args, status, stderr.String())
		}
	}
}

func TestProgressOnlyOnATerminal(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, 10)
	p.set(3)
	p.close()
	if p != nil || b.Len() > 0 {
		t.Errorf("a bar is drawn where there is no terminal: %q", b.String())
	}
	// A short run shows none; a long one is redrawn rarely, and taken away.
	p = &progress{bar: newBar(&b, 10, 80), start: time.Now()}
	p.set(1)
	if b.Len() > 0 {
		t.Errorf("a bar is drawn at once: %q", b.String())
	}
	p.start = time.Now().Add(-time.Minute)
	p.set(2)
	n := b.Len()
	p.set(3)
	if n == 0 || b.Len() != n {
		t.Errorf("%d bytes are written first, then %d; want some, and no more at once", n, b.Len()-n)
	}
	for frame := range strings.SplitSeq(b.String(), "\r") {
		if utf8.RuneCountInString(frame) >= 80 {
			t.Errorf("a frame has %d characters: %q", utf8.RuneCountInString(frame), frame)
		}
	}
	p.close()
	if !strings.HasSuffix(b.String(), "\r") {
		t.Errorf("the line is not empty in the end: %q", b.String())
	}
	// What is repeated is known by the size of its file.
	b.Reset()
	file := &counting{in: strings.NewReader("repeated"), size: 16}
	if _, err := io.ReadAll(file); err != nil {
		t.Fatal(err)
	}
	p = &progress{bar: newBar(&b, 100, 80), start: time.Now().Add(-time.Minute), portion: file.portion}
	p.set(6000)
	if got := b.String(); !strings.Contains(got, "repeating 100 decisions/s") || !strings.Contains(got, " 50% ") {
		t.Errorf("the bar is %q", got)
	}
}

// TestPrintFeeds prints what feeds said of nodes that plugins scored.
func TestPrintFeeds(t *testing.T) {
	scores := []report.Score{{Plugin: "load-aware", Raw: 43, Normalized: 43, Weighted: 43}}
	a := &report.Attempt{Feasible: 2, Candidates: []report.Candidate{
		{Node: "a", Total: 43, Scores: scores, Feeds: []report.FeedValue{
			{Plugin: "load-aware", Feed: "node.cpu.usage:milli", Value: 300, State: abi.FeedFresh, At: 1_000_000},
			{Plugin: "load-aware", Feed: "carbon:gram", Value: -7, State: abi.FeedStale},
		}},
		{Node: "b", Total: 43, Scores: scores, Feeds: []report.FeedValue{{Plugin: "load-aware", Feed: "node.cpu.usage:milli"}}},
	}}
	var out bytes.Buffer
	p := &printer{w: &out, width: 140}
	p.attempt(a)
	const want = `
The best 2 of 2 feasible nodes by weighted score (raw score in brackets where it differs), the chosen one first:

NODE  TOTAL  load-aware
a        43          43
b        43          43

What feeds said of them:

NODE  FEED                     VALUE  SAMPLED AT            READ BY
a     node.cpu.usage       300 milli  1970-01-12T13:46:40Z  load-aware
a     carbon          -7 gram, stale                        load-aware
b     node.cpu.usage            none                        load-aware

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
