package suite

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Outcomes of cases.
const (
	pass = "pass"
	fail = "fail"
)

// outcome is how a case ended.
type outcome struct {
	result string // pass or fail
	alpha  bool   // an alpha gate was on or off against its default
}

// parse reads the output of a test program under -test.v=test2json. A case is a test without
// subtests; a test that skips itself is none. A test that did not end failed.
func parse(out []byte) (map[string]outcome, error) {
	const marker = "\x16"
	ended := regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (.+) \([0-9.]+s\)$`)
	results := make(map[string]string)
	alpha := make(map[string]bool)
	running := ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text := lines.Text()
		if gates, ok := strings.CutPrefix(text, "upstream: gates "); ok && strings.Contains(gates, "(ALPHA)") {
			alpha[running] = true
		}
		at := strings.LastIndex(text, marker)
		if at < 0 {
			continue
		}
		text = strings.TrimSpace(text[at+len(marker):])
		for _, word := range []string{"=== RUN", "=== NAME", "=== CONT"} {
			if name, ok := strings.CutPrefix(text, word); ok {
				if running = strings.TrimSpace(name); word == "=== RUN" {
					results[running] = fail
				}
			}
		}
		if m := ended.FindStringSubmatch(text); m != nil {
			results[m[2]] = strings.ToLower(m[1])
		}
	}
	cases := make(map[string]outcome)
	for name, result := range results {
		if result == "skip" || hasSubtests(results, name) {
			continue
		}
		cases[name] = outcome{result: result, alpha: inherits(alpha, name)}
	}
	return cases, lines.Err()
}

func hasSubtests(results map[string]string, name string) bool {
	for other := range results {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// inherits reports whether a test, or one around it, is in the set.
func inherits(set map[string]bool, name string) bool {
	for name != "" {
		if set[name] {
			return true
		}
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	return false
}

// report is what became of a package.
type report struct {
	pkg      string
	cases    map[string]outcome // by name, after further tries
	flaky    []string           // failed, then passed
	problems []string
	left     counts // of cases of a second run, with features left to others
	took     time.Duration
}

// judge compares outcomes with what is expected of a scheduler.
func (r *report) judge(expected map[string]expectation, scheduler string) {
	for name, got := range r.cases {
		e, ok := expected[name]
		switch want := e.of(scheduler); {
		case !ok:
			r.problems = append(r.problems, fmt.Sprintf("%s: %s, and %s does not have it", name, got.result, expectedFile))
		case want != got.result:
			r.problems = append(r.problems, fmt.Sprintf("%s: %s, expected %s", name, got.result, want))
		case e.alpha != got.alpha:
			r.problems = append(r.problems, fmt.Sprintf("%s: needs alpha gates: %v, expected %v", name, got.alpha, e.alpha))
		}
	}
	for name := range expected {
		if _, ok := r.cases[name]; !ok {
			r.problems = append(r.problems, name+": did not run")
		}
	}
	slices.Sort(r.problems)
}

// counts of cases without, and with, alpha gates.
type counts struct{ cases, passed, alpha, alphaPassed int }

func (r *report) counts() (n counts) {
	for _, c := range r.cases {
		all, passed := &n.cases, &n.passed
		if c.alpha {
			all, passed = &n.alpha, &n.alphaPassed
		}
		*all++
		if c.result == pass {
			*passed++
		}
	}
	return n
}
