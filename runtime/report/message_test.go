package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/runtime/report"
)

// TestLongNoFit: for any number and size of reasons and of other messages, the message has at
// most MaxMessage bytes, says how many reasons are left out, and keeps the PostFilter message.
func TestLongNoFit(t *testing.T) {
	many := make(map[string]int)
	for i := range 5_000 {
		many[fmt.Sprintf("reason é%d of a plugin", i)] = i + 1
	}
	giant := map[string]int{strings.Repeat("日", 1<<20): 3, "b": 1}
	long := strings.Repeat("preemption: é ", 1<<16)
	for name, c := range map[string]struct {
		before, after string
		reasons       map[string]int
		want          []string
	}{
		"many reasons":           {"", "", many, []string{"0/5000 nodes are available: 1 reason é0 of a plugin, ", " more reasons."}},
		"many reasons and after": {"", "preemption: no.", many, []string{" more reasons. preemption: no."}},
		"one of megabytes":       {"", "", giant, []string{": 1 b, and 1 more reason."}},
		"long before":            {long, "", nil, []string{": preemption", "…."}},
		"long after":             {"", long, map[string]int{"a": 1}, []string{": 1 a. preemption", "…"}},
		"all long":               {"", long, many, []string{" more reasons. preemption"}},
		"hostile":                {"\x1b[2J\u202e\xff", "\x00", nil, []string{": \ufffd[2J\ufffd\ufffd. \ufffd"}},
	} {
		got := report.NoFit(5000, c.before, c.reasons, c.after)
		if len(got) > report.MaxMessage || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
	}
	// A message that fits is not changed.
	fits := map[string]int{strings.Repeat("x", report.MaxMessage-len("0/1 nodes are available: 1 .")): 1}
	if got := report.NoFit(1, "", fits, ""); len(got) != report.MaxMessage || strings.Contains(got, "…") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-20:])
	}
}

// TestShortened: a record keeps its largest groups of nodes and says what is left out; the
// original is not changed.
func TestShortened(t *testing.T) {
	a := &report.Attempt{Message: strings.Repeat("m", 1<<20)}
	for i := range 1000 {
		a.Rejections = append(a.Rejections, report.Rejection{Plugin: "p", Reasons: []string{strings.Repeat("é", 500)}, Count: i + 1})
	}
	before := a.Size()
	const most = 16 << 10
	s := a.Shortened(most)
	if n := s.Size(); n > most || len(s.Rejections) < 5 {
		t.Errorf("%d bytes, %d groups", n, len(s.Rejections))
	}
	last := s.Rejections[len(s.Rejections)-1]
	nodes := last.Count
	for _, r := range s.Rejections[:len(s.Rejections)-1] {
		nodes += r.Count
	}
	if s.Rejections[0].Count != 1000 || nodes != 1000*1001/2 || !strings.Contains(last.Reasons[0], "more groups of nodes, which were not kept") {
		t.Errorf("first %d, all %d, last %v", s.Rejections[0].Count, nodes, last.Reasons)
	}
	if a.Size() != before || len(a.Rejections) != 1000 {
		t.Error("the original has changed")
	}
	if short := (&report.Attempt{Message: "m"}); short.Shortened(most) != short {
		t.Error("a short record is copied")
	}
}
