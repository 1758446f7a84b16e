package suite

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/outside"
)

// TestParse: cases are the innermost tests; one that did not end failed; gates count for subtests.
func TestParse(t *testing.T) {
	const out = "\x16=== RUN   TestA\n" +
		"\x16=== RUN   TestA/x\n" +
		"noise \x16--- PASS: TestA/x (0.10s)\n" +
		"\x16=== RUN   TestA/y\n" +
		"\x16--- FAIL: TestA/y (1.00s)\n" +
		"\x16--- FAIL: TestA (1.10s)\n" +
		"\x16=== RUN   TestB\n" +
		"upstream: gates Old=false(BETA),New=true(ALPHA)\n" +
		"\x16=== RUN   TestB/z\n" +
		"\x16    --- PASS: TestB/z (0.10s)\n" +
		"\x16--- PASS: TestB (0.10s)\n" +
		"\x16=== RUN   TestC\n" +
		"\x16--- SKIP: TestC (0.10s)\n" +
		"\x16=== RUN   TestD\n" +
		"panic: no\n"
	got, err := parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]outcome{
		"TestA/x": {result: pass}, "TestA/y": {result: fail}, "TestB/z": {result: pass, alpha: true}, "TestD": {result: fail},
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: got %v, want %v", name, got[name], w)
		}
	}
}

// TestJudge: every way to differ from the file is a problem.
func TestJudge(t *testing.T) {
	r := report{pkg: "p", cases: map[string]outcome{
		"Same": {result: fail}, "Worse": {result: fail}, "Better": {result: pass}, "New": {result: pass}, "Alpha": {result: pass, alpha: true},
	}}
	r.judge(map[string]expectation{
		"Same": {theirs: pass, ours: fail}, "Worse": {theirs: pass, ours: pass}, "Better": {theirs: pass, ours: fail},
		"Alpha": {theirs: pass, ours: pass}, "Gone": {theirs: pass, ours: pass},
	}, outside.Berth)
	want := []string{
		"Alpha: needs alpha gates: true, expected false", "Better: pass, expected fail", "Gone: did not run",
		"New: pass, and cmd/upstream/expected.txt does not have it", "Worse: fail, expected pass",
	}
	if strings.Join(r.problems, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", r.problems)
	}
}

// TestCheck: a difference needs a row of the page, and only a difference has one.
func TestCheck(t *testing.T) {
	const differences = "\n| pods fly | no | yes |\n"
	for name, c := range map[string]struct {
		e    expectation
		want string
	}{
		"explained":   {expectation{theirs: pass, ours: fail, why: "pods fly"}, ""},
		"same":        {expectation{theirs: fail, ours: fail}, ""},
		"one run":     {expectation{theirs: unknown, ours: fail}, ""},
		"bare":        {expectation{theirs: pass, ours: fail}, "name the row"},
		"superfluous": {expectation{theirs: pass, ours: pass, why: "pods fly"}, "do not differ"},
		"invented":    {expectation{theirs: pass, ours: fail, why: "pods swim"}, "has no row"},
	} {
		err := expectations{"p": {"Case": c.e}}.check(differences)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
