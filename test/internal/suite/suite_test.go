package suite

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestCommitted: the file of expected results says for each difference which row of docs/differences.md explains it, and
// docs/oracle.md counts its cases.
func TestCommitted(t *testing.T) {
	top := filepath.Join("..", "..")
	expected, err := readExpected(filepath.Join(top, expectedFile))
	if err != nil {
		t.Fatal(err)
	}
	differences, err := os.ReadFile(filepath.Join(top, page))
	if err != nil {
		t.Fatal(err)
	}
	if err := expected.check(string(differences)); err != nil {
		t.Error(err)
	}
	oracle, err := os.ReadFile(filepath.Join(top, "..", "docs", "oracle.md"))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]*[6]int) // without alpha gates: cases, those that pass with kube-scheduler, with Berth; with alpha gates
	all := new([6]int)
	for pkg, cases := range expected {
		counts[pkg] = new([6]int)
		for _, c := range cases {
			first := 0
			if c.alpha {
				first = 3
			}
			for _, n := range []*[6]int{counts[pkg], all} {
				n[first]++
				if c.theirs == pass {
					n[first+1]++
				}
				if c.ours == pass {
					n[first+2]++
				}
			}
		}
	}
	counts["all"] = all
	for name, n := range counts {
		if row := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n", name, n[0], n[1], n[2], n[3], n[4], n[5]); !strings.Contains(string(oracle), row) {
			t.Errorf("docs/oracle.md does not have the row\n%s", row)
		}
	}
}
