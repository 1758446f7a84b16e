package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestReport: events of go test as they were recorded, and what is printed for them.
func TestReport(t *testing.T) {
	events, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := newReport(&out)
	r.repeat = command("7", []string{"-vet=off", "-exec=env GOGC=400", "-run=Test", "-race"})
	r.expect(map[string]string{"m/good": "good", "m/bad": "bad", "m/broken": "broken", "m/hangs": "hangs", "m/left": "left"})
	for line := range bytes.Lines(events) {
		r.line(line)
	}
	r.progress()
	r.summary(90*time.Second, 100*time.Second)
	want, err := os.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("printed:\n%s", out.String())
	}
}

// TestPattern: a pattern is one word of a shell, and names one test.
func TestPattern(t *testing.T) {
	for test, want := range map[string]string{
		"TestA":        `'^TestA$'`,
		"TestA/b.c/#1": `'^TestA$/^b\.c$/^#1$'`,
		"TestA/it's":   `'^TestA$/^it'\''s$'`,
	} {
		if got := quoted(pattern(test)); got != want {
			t.Errorf("%s: %s, want %s", test, got, want)
		}
	}
}

// TestReason: what a test said when it was skipped, with any name of a file.
func TestReason(t *testing.T) {
	for line, want := range map[string]string{
		"    a_test.go:12: no Rust: install it\n": "no Rust: install it",
		"--- SKIP: TestA (0.00s)\n":               "no reason",
	} {
		if got := reason(strings.SplitAfter("=== RUN   TestA\n"+line, "\n")); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
