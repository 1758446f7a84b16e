package laws_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestClocksDecideNothing: no test compares how long something took, which a busy machine changes.
func TestClocksDecideNothing(t *testing.T) {
	for _, problem := range timed(allModules(t), mayMeasure) {
		t.Error(problem)
	}
}

// mayMeasure has the files of tests that measure time, with the reason.
var mayMeasure = exceptions{
	"runtime/assembly/soak_test.go":                    "it runs for as long as a flag says",
	"runtime/debughttp/debughttp_test.go":              "a trace takes at least as long as was asked",
	"runtime/internal/clock/clock_test.go":             "the real clock goes on",
	"runtime/kube/claimserver_internal_test.go":        "a server that tells of changes later",
	"runtime/kube/fence_internal_test.go":              "two clocks go on alike, and the later one by more",
	"runtime/wasm/cpu_other_test.go":                   "a stand-in for CPU time",
	"runtime/wasm/meter/thread_other_test.go":          "a stand-in for CPU time",
	"test/e2e/load_test.go":                            "it prints how long a check took",
	"test/e2e/paused_test.go":                          "a leader stands still for as long as a flag says",
	"test/e2e/preempted_test.go":                       "pods come one after the other, and end a while after they were deleted",
	"test/e2e/relay_test.go":                           "it prints how long the machine stood still",
	"test/e2e/throttled_test.go":                       "a server refuses for a while",
	"test/internal/cluster/proxy_test.go":              "a proxy delays at least as long as was asked",
	"wasm-examples/internal/hosttest/metering_test.go": "it prints a ratio",
}

// timed returns a sentence for each use of time.Since and time.Until in a test, and for each time.Now() that is compared,
// except in benchmarks, in files with testing/synctest, whose clock is no real one, and in those that may measure. Tests
// with a real API server wait for processes, and may give them an end.
func timed(files []goFile, mayMeasure exceptions) []string {
	var problems []problem
	for _, f := range files {
		if !f.isTest() || strings.HasSuffix(f.path, "bench_test.go") || importedAs(f, "testing/synctest") != "" {
			continue
		}
		pkg := importedAs(f, "time")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			for _, name := range []string{"Since", "Until", "Now().After", "Now().Before", "Now().Compare", "Now().Sub"} {
				if isSelector(s, pkg, name) || !strings.HasPrefix(f.path, "test/") && isNow(s, pkg, name) {
					problems = append(problems, problem{f, n, pkg + "." + name + ": on a busy machine everything takes longer, so no test may " +
						"depend on it. Remedy: eventually.Holds or Succeeds of internal/eventually, which count tries; testing/synctest; or the " +
						"clock that the code is given"})
				}
			}
			return true
		})
	}
	return mayMeasure.exempt(problems, "mayMeasure")
}

// isNow reports whether s is a method of what time.Now returns: name is "Now().After" for the method After.
func isNow(s *ast.SelectorExpr, pkg, name string) bool {
	call, ok := s.X.(*ast.CallExpr)
	if !ok || name != "Now()."+s.Sel.Name {
		return false
	}
	now, ok := call.Fun.(*ast.SelectorExpr)
	return ok && isSelector(now, pkg, "Now")
}

func TestTimedChecker(t *testing.T) {
	const src = "package a\nimport \"time\"\nvar x = time.Since(time.Time{}) < time.Second\n"
	checkLaw(t, func(files []goFile) []string { return timed(files, nil) }, []lawCase{
		{"a comparison", "a/a_test.go", src, "a/a_test.go:3: time.Since"},
		{"until", "a/a_test.go", strings.ReplaceAll(src, "Since", "Until"), "time.Until"},
		{"a time that is compared", "a/a_test.go", strings.Replace(src, "time.Since(time.Time{}) < time.Second", "time.Now().After(time.Time{})", 1), "time.Now().After"},
		{"beside an API server", "test/e2e/a_test.go", strings.Replace(src, "time.Since(time.Time{}) < time.Second", "time.Now().After(time.Time{})", 1), ""},
		{"another name", "a/a_test.go", "package a\nimport t \"time\"\nvar x = t.Since\n", "t.Since"},
		{"a method", "a/a_test.go", "package a\nimport \"time\"\nvar _ time.Time\nvar x = clock.Since\n", ""},
		{"a clock that is no real one", "a/a_test.go", strings.Replace(src, "import", "import _ \"testing/synctest\"\nimport", 1), ""},
		{"a benchmark", "a/bench_test.go", src, ""},
		{"outside of tests", "a/a.go", src, ""},
	})
	checkLaw(t, func(files []goFile) []string { return timed(files, exceptions{"a/may_test.go": "why"}) }, []lawCase{
		{"one that may", "a/may_test.go", src, ""},
	})
	if got := timed(nil, exceptions{"gone_test.go": "why"}); len(got) != 1 || !strings.Contains(got[0], "take it off") {
		t.Errorf("a row that nothing needs: %q", got)
	}
}
