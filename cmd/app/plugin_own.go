package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/procgroup"
)

// faultedLimit is how long a project's own tests may run if the plugin failed as WebAssembly. Native
// code has no fuel: a loop that does not end there would run until a limit of the toolchain, if
// that has one.
const faultedLimit = 30 * time.Second

// runOwn runs the own tests of a Go or Rust project.
func (t *pluginTest) runOwn(ctx context.Context) {
	switch languageOf(t.dir) {
	case "go":
		if tests, err := filepath.Glob(filepath.Join(t.dir, "*_test.go")); err != nil || len(tests) == 0 {
			return
		}
		cmd := procgroup.Set(exec.CommandContext(ctx, "go", "test", "."))
		if t.failed > 0 {
			cmd.Args = []string{"go", "test", "-timeout=" + t.ownLimit.String(), "."}
		}
		cmd.Dir = t.dir
		t.own(cmd)
	case "rust":
		if !hasRustTests(t.dir) {
			return
		}
		toolchain, err := cargo.Find(ctx)
		switch {
		case err != nil:
			t.report("natively: cargo test", []string{err.Error()})
		case t.failed > 0:
			t.ownRust(ctx, toolchain)
		default:
			t.own(toolchain.Command(ctx, t.dir, "test", "--quiet"))
		}
	}
}

// hasRustTests reports whether a crate has tests: files in tests, or units in src.
func hasRustTests(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, "tests")); err == nil && info.IsDir() {
		return true
	}
	found := errors.New("found")
	err := filepath.WalkDir(filepath.Join(dir, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".rs" {
			return err
		}
		text, err := bounded.Regular(path, 1<<20)
		if bytes.Contains(text, []byte("#[test]")) {
			return found
		}
		return err
	})
	return errors.Is(err, found)
}

// own runs a command and reports whether it failed.
func (t *pluginTest) own(cmd *exec.Cmd) {
	var failed []string
	said, err := cmd.CombinedOutput()
	if err != nil {
		failed = []string{fmt.Sprintf("%v\n%s", err, t.untold(string(said)))}
	}
	t.report("natively: "+strings.Join(append([]string{filepath.Base(cmd.Path)}, cmd.Args[1:]...), " "), failed)
}

// untold returns what go test said without what the scenarios said before, as WebAssembly.
func (t *pluginTest) untold(said string) string {
	place := regexp.MustCompile(`^\s*([\w-]+\.go:\d+: )?`)
	result := regexp.MustCompile(`^(\s*--- FAIL: .*|FAIL.*)$`)
	lines := withoutDump(strings.Split(strings.TrimSpace(said), "\n"))
	same := func(at int, told []string) bool {
		for i, line := range told {
			if at+i >= len(lines) || place.ReplaceAllString(lines[at+i], "") != strings.TrimSpace(line) {
				return false
			}
		}
		return true
	}
	again := false
	for at := 0; at < len(lines); {
		said := place.ReplaceAllString(lines[at], "")
		if t.toldTrap(said) || t.toldDifference(said) {
			lines, again = slices.Delete(lines, at, at+linesOf(lines[at:])), true
		} else {
			at++
		}
	}
	for _, text := range t.told {
		told := strings.Split(strings.TrimSpace(strings.TrimPrefix(text, t.dir+string(filepath.Separator))), "\n")
		for at := range lines {
			if same(at, told) {
				lines, again = slices.Delete(lines, at, at+len(told)), true
				break
			}
		}
	}
	if again && !slices.ContainsFunc(lines, func(line string) bool { return !result.MatchString(line) }) {
		return "(as above)"
	}
	if again {
		lines = append(lines, "(what is told above is left out here)")
	}
	return strings.Join(lines, "\n")
}

// withoutDump returns the lines without all goroutines of a program that Go's runtime ended, or that did not end.
func withoutDump(lines []string) []string {
	ended := func(line string) bool {
		return strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: test timed out after ")
	}
	at := slices.IndexFunc(lines, ended)
	if at < 0 {
		return lines
	}
	return append(lines[:at+1:at+1], "(its goroutines are left out: go test shows them)")
}

// linesOf returns how many lines tell what the first one begins: it, and what is further to the right.
func linesOf(lines []string) int {
	margin := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	if n := slices.IndexFunc(lines[1:], func(line string) bool { return margin(line) <= margin(lines[0]) }); n >= 0 {
		return n + 1
	}
	return len(lines)
}

// toldTrap reports whether a scenario told of the same trap at the same line.
func (t *pluginTest) toldTrap(said string) bool {
	at, message, trapped := strings.Cut(said, ": the plugin trapped: panic: ")
	return trapped && slices.ContainsFunc(t.told, func(text string) bool {
		first, rest, _ := strings.Cut(text, "\n")
		place, _, _ := strings.Cut(first, ": the plugin trapped: ")
		return strings.HasSuffix(place, at) && strings.Contains(rest, "panic: "+message)
	})
}

// toldDifference reports whether a scenario told at the same line that answers differ, perhaps in another way.
func (t *pluginTest) toldDifference(said string) bool {
	at, _, differs := strings.Cut(said, berthtest.Differs)
	return differs && slices.ContainsFunc(t.told, func(text string) bool {
		place, _, differs := strings.Cut(text, berthtest.Differs)
		return differs && strings.HasSuffix(place, at)
	})
}

// ownRust runs the tests of a crate within t.ownLimit, without cargo, since the end of cargo would
// not end them.
func (t *pluginTest) ownRust(ctx context.Context, toolchain *cargo.Toolchain) {
	var failed []string
	programs, err := toolchain.Tests(ctx, t.dir)
	if err != nil {
		failed = []string{err.Error()}
	}
	limited, cancel := context.WithTimeoutCause(ctx, t.ownLimit, fmt.Errorf("stopped after %v", t.ownLimit))
	defer cancel()
	for _, program := range programs {
		cmd := procgroup.Set(exec.CommandContext(limited, program, "--quiet"))
		cmd.Dir = t.dir
		said, err := cmd.CombinedOutput()
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = context.Cause(limited)
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%v\n%s", err, bytes.TrimSpace(said)))
		}
	}
	t.report("natively: cargo test --quiet", failed)
}
