package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64
}

// most is how many lines of a failed test are printed, and how many failures there are in the summary.
const most, mostFailures = 1000, 30

// report collects what became of tests, and prints it.
type report struct {
	out     io.Writer
	each    bool
	repeat  func(folder, test string) string
	folders map[string]string // of packages that have not ended, by import path
	all     map[string]string
	tests   map[id]*result
	builds  map[string][]string // what compilers said, by package
	skipped map[string]int      // by reason
	failed  []failure
	uneven  []failure // failed at first, and passed alone
	passed  int
	broken  int
}

type id struct{ pkg, test string }

// failure is of a test, or with an empty name of a package. If it is lone, the package's other tests came to their end.
type failure struct {
	pkg, folder, test, text string
	lone                    bool
}

func (f failure) title() string { return strings.TrimSpace(f.folder + " " + f.test) }

// result is of a test, or with an empty name of a package.
type result struct {
	action string
	since  time.Time
	lines  []string
}

func newReport(out io.Writer) *report {
	return &report{out: out, tests: make(map[id]*result), builds: make(map[string][]string), skipped: make(map[string]int)}
}

// expect says which packages there are, with their folders.
func (r *report) expect(packages map[string]string) {
	r.all, r.folders = packages, maps.Clone(packages)
}

// line takes what go test printed, and reports whether something was printed.
func (r *report) line(line []byte) bool {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(r.out, "%s", line)
		return true
	}
	return r.event(e)
}

func (r *report) event(e event) bool {
	if e.Action == "build-output" {
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		fmt.Fprint(r.out, e.Output)
		return true
	}
	if e.Package == "" {
		return false
	}
	key := id{e.Package, e.Test}
	one := r.tests[key]
	if one == nil {
		one = &result{since: time.Now()}
		r.tests[key] = one
	}
	switch e.Action {
	case "output":
		one.lines = append(one.lines, e.Output)
		return false
	case "pass", "fail", "skip":
		one.action = e.Action
		if e.Test == "" {
			return r.end(e)
		}
		if e.Action == "skip" {
			r.skipped[reason(one.lines)]++
		}
		if e.Action != "fail" {
			one.lines = nil
		}
		if r.each {
			fmt.Fprintf(r.out, "%-4s %s %.1f s\n", e.Action, e.Test, e.Elapsed)
		}
		return r.each
	case "run", "pause", "cont", "start":
		one.action = e.Action
	}
	return false
}

// end of a package: what its failed tests said is printed, and nothing is kept of the others.
func (r *report) end(e event) bool {
	folder, expected := r.folders[e.Package]
	delete(r.folders, e.Package)
	whole := r.tests[id{pkg: e.Package}]
	var names []string
	for key, one := range r.tests {
		if key.pkg != e.Package || key.test == "" {
			continue
		}
		// A test that did not end when its program did is one of those that ended it.
		if one.action == "fail" || e.Action == "fail" && (one.action == "run" || one.action == "cont") {
			names = append(names, key.test)
		}
		if one.action == "pass" {
			r.passed++
		}
	}
	slices.Sort(names)
	if e.Action == "fail" {
		r.failures(folder, e, names, whole)
	}
	maps.DeleteFunc(r.tests, func(key id, _ *result) bool { return key.pkg == e.Package })
	if !expected {
		return false
	}
	word := map[string]string{"pass": "ok", "fail": "FAIL", "skip": "-"}[e.Action]
	fmt.Fprintf(r.out, "%-4s %s %.1f s (%d left)\n", word, folder, e.Elapsed, len(r.folders))
	return true
}

// failures prints what the failed tests of a package said, and keeps lines for the summary.
func (r *report) failures(folder string, e event, names []string, whole *result) {
	if e.FailedBuild != "" {
		r.broken++
		said := slices.IndexFunc(r.builds[e.FailedBuild], func(l string) bool { return !strings.HasPrefix(l, "#") })
		text := "does not build"
		if said >= 0 {
			text += ": " + strings.TrimSpace(r.builds[e.FailedBuild][said])
		}
		r.failed = append(r.failed, failure{pkg: e.Package, folder: folder, text: text})
		return
	}
	// package testing says this when all tests have ended: not after a panic, a fatal error or an interrupt.
	ended := slices.Contains(whole.lines, "FAIL\n")
	for _, name := range names {
		one := r.tests[id{e.Package, name}]
		r.print(folder+" "+name, one.lines)
		if inner := slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"/") }); !inner {
			r.failed = append(r.failed, failure{e.Package, folder, name, said(one), ended})
		}
	}
	if len(names) == 0 {
		r.print(folder, whole.lines)
		r.failed = append(r.failed, failure{pkg: e.Package, folder: folder, text: said(whole)})
	} else if slices.ContainsFunc(whole.lines, func(l string) bool { return strings.HasPrefix(l, "SIGQUIT") }) {
		r.print(folder, whole.lines)
	}
}

func (r *report) print(title string, lines []string) {
	fmt.Fprintf(r.out, "=== %s\n", title)
	for _, line := range lines[:min(most, len(lines))] {
		fmt.Fprint(r.out, line)
	}
	if more := len(lines) - most; more > 0 {
		fmt.Fprintf(r.out, "... and %d more lines\n", more)
	}
}

var logged = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: (.*)`)

// reason is the first line that a skipped test logged.
func reason(lines []string) string {
	for _, line := range lines {
		if m := logged.FindStringSubmatch(line); m != nil {
			return strings.TrimSpace(m[1])
		}
	}
	return "no reason"
}

// said is the line by which one recognises a failure.
func said(one *result) string {
	if one.action == "run" || one.action == "cont" {
		return "did not end"
	}
	last := "says nothing"
	for _, line := range one.lines {
		if strings.HasPrefix(line, "panic: ") {
			return fmt.Sprintf("%.300s", strings.TrimSpace(line))
		}
		if logged.MatchString(line) {
			last = fmt.Sprintf("%.300s", strings.TrimSpace(line))
		}
	}
	return last
}

// progress says what is left.
func (r *report) progress() {
	var running []string
	for key, one := range r.tests {
		if key.test == "" || one.action != "run" && one.action != "cont" || strings.Contains(key.test, "/") {
			continue
		}
		running = append(running, fmt.Sprintf("%s %s (%.0f s)", r.folders[key.pkg], key.test, time.Since(one.since).Seconds()))
	}
	slices.Sort(running)
	if len(running) == 0 {
		running = []string{"compiling"}
	}
	fmt.Fprintf(r.out, "     %d of %d packages left: %s\n", len(r.folders), len(r.all), strings.Join(running[:min(4, len(running))], ", "))
}

// summary prints the last lines.
func (r *report) summary(wall, cpu time.Duration) {
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		fmt.Fprintf(r.out, "skipped: %d tests: %.300s\n", r.skipped[reason], reason)
	}
	for _, f := range r.uneven {
		fmt.Fprintf(r.out, "uneven: %s failed, and passed when it ran again alone: %s\n        %s\n",
			f.title(), f.text, r.repeat(f.folder, f.test))
	}
	for _, f := range r.failed[:min(mostFailures, len(r.failed))] {
		fmt.Fprintf(r.out, "failed: %s: %s\n        %s\n", f.title(), f.text, r.repeat(f.folder, f.test))
	}
	if more := len(r.failed) - mostFailures; more > 0 {
		fmt.Fprintf(r.out, "failed: %d more\n", more)
	}
	skipped := 0
	for _, n := range r.skipped {
		skipped += n
	}
	fmt.Fprintf(r.out, "summary: %d packages with tests; %d tests passed, %d failed, %d skipped; %d build errors; %.0f s, %.0f s of CPU\n",
		len(r.all), r.passed, len(r.failed)-r.broken, skipped, r.broken, wall.Seconds(), cpu.Seconds())
}

// pattern of -run that a test alone matches.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// quoted is one word of a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
