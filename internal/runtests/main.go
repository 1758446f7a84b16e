// Command runtests runs go test and says, while it runs, how many packages are left, and at the end what failed, how to
// repeat it, and what was skipped. It has no limit that a busy machine reaches: it ends a test program that used no CPU
// for two minutes, or too much of it, and shows its goroutines.
//
//	runtests -packages './runtime/...' -- -vet=off -run=TestSwap
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// interval is how often processes are looked at; quiet is how long nothing is printed at most.
const interval, quiet = 5 * time.Second, 15 * time.Second

const seedVariable = "BERTH_TEST_SEED"

func main() {
	patterns := flag.String("packages", "./...", "package `patterns`, separated by spaces")
	except := flag.String("except", "", "a package `folder` to leave out, as . is one")
	each := flag.Bool("each", false, "print each test, not each package")
	var limits limits
	flag.IntVar(&limits.again, "again", 0, "if at most so `many` tests fail, run each once more, alone: one that passes is named, and no failure")
	flag.DurationVar(&limits.cpu, "cpu", 40*time.Minute, "end a test program that used so much CPU `time`")
	flag.DurationVar(&limits.idle, "idle", 2*time.Minute, "end a test program that used no CPU for a `time`")
	flag.Parse()
	r := newReport(os.Stdout)
	r.each = *each
	if err := run(r, limits, strings.Fields(*patterns), *except, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

var errFailed = errors.New("there are failures")

// run lists the packages, runs their tests with some flags of go test, and prints the summary.
func run(r *report, limits limits, patterns []string, except string, flags []string) error {
	start := time.Now()
	seed := os.Getenv(seedVariable)
	if seed == "random" {
		seed = strconv.FormatInt(start.UnixNano()%1_000_000+1, 10)
		if err := os.Setenv(seedVariable, seed); err != nil {
			return err
		}
	}
	if seed != "" {
		fmt.Fprintf(r.out, "%s=%s\n", seedVariable, seed)
	}
	r.repeat = command(seed, flags)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // go test gets it too, ends its tests, and has a summary
	packages, err := list(patterns)
	if err != nil {
		return err
	}
	maps.DeleteFunc(packages, func(_, folder string) bool { return folder == except })
	if len(packages) == 0 {
		return fmt.Errorf("no package of %s has tests", strings.Join(patterns, " "))
	}
	r.expect(packages)
	cpu, err := goTest(r, limits, slices.Sorted(maps.Keys(packages)), flags)
	if err != nil && len(r.failed) > 0 && len(r.failed) <= limits.again {
		more := repeatAlone(r, limits, flags)
		if cpu += more; len(r.failed) == 0 {
			err = nil
		}
	}
	r.summary(time.Since(start), cpu)
	if err != nil {
		return fmt.Errorf("%w: go test: %w", errFailed, err)
	}
	return nil
}

// goTest runs go test, and returns the CPU time that it took.
func goTest(r *report, limits limits, packages, flags []string) (time.Duration, error) {
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json", "-timeout=0"}, packages, flags)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	follow(r, newWatch(limits, cmd.Process.Pid, r.out), stdout)
	err = cmd.Wait()
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// repeatAlone repeats the tests that failed, each alone, and keeps those that fail again. It is for tests that wait for
// other programs, which a busy machine keeps from answering.
func repeatAlone(r *report, limits limits, flags []string) (cpu time.Duration) {
	failed := r.failed
	r.failed = nil
	for _, f := range failed {
		if !f.lone {
			r.failed = append(r.failed, f)
			continue
		}
		fmt.Fprintf(r.out, "again, alone: %s\n", f.title())
		alone := newReport(r.out)
		alone.each, alone.repeat = r.each, r.repeat
		alone.expect(map[string]string{f.pkg: f.folder})
		took, err := goTest(alone, limits, []string{f.pkg}, slices.Concat(flags, []string{"-run=" + pattern(f.test)}))
		cpu += took
		if err != nil || alone.passed == 0 {
			r.failed = append(r.failed, f)
			continue
		}
		r.uneven = append(r.uneven, f)
	}
	return cpu
}

// follow reads events until there are no more, and meanwhile watches the processes.
func follow(r *report, w *watch, stdout io.Reader) {
	lines, tick := make(chan []byte), time.NewTicker(interval)
	defer tick.Stop()
	go func() {
		defer close(lines)
		reader := bufio.NewReader(stdout)
		for {
			line, err := reader.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	var silent time.Duration
	for {
		select {
		case line, more := <-lines:
			if !more {
				return
			}
			if r.line(line) {
				silent = 0
			}
		case <-tick.C:
			if err := w.look(); err != nil {
				fmt.Fprintln(r.out, "runtests: cannot see what uses CPU, so nothing that hangs is ended:", err)
			}
			if silent += interval; silent >= quiet {
				r.progress()
				silent = 0
			}
		}
	}
}

// list returns the import paths of packages with tests, each with its folder relative to the current one.
func list(patterns []string) (map[string]string, error) {
	const tested = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"
	cmd := exec.Command("go", append([]string{"list", "-f", tested}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	packages := make(map[string]string)
	for line := range bytes.Lines(out) {
		path, dir, _ := strings.Cut(string(bytes.TrimSpace(line)), "\t")
		if rel, err := filepath.Rel(here, dir); err == nil {
			dir = rel
		}
		if path != "" {
			packages[path] = filepath.ToSlash(dir)
		}
	}
	return packages, nil
}

// command returns how a test of a folder is repeated: with the seed, and the flags but those that choose tests or how
// programs start. The module is not always that at the top, where bin/runtests is.
func command(seed string, flags []string) func(folder, test string) string {
	var before, after string
	here, err := os.Getwd()
	program, err2 := os.Executable()
	if module, err3 := filepath.Rel(filepath.Dir(filepath.Dir(program)), here); errors.Join(err, err2, err3) == nil &&
		module != "." && filepath.IsLocal(module) {
		before = "cd " + module + " && "
	}
	if seed != "" {
		before += seedVariable + "=" + seed + " "
	}
	for _, f := range flags {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if name != "run" && name != "skip" && name != "count" && name != "vet" && name != "exec" {
			after += " " + f
		}
	}
	return func(folder, test string) string {
		run := ""
		if test != "" {
			run = " -run " + quoted(pattern(test))
		}
		if folder != "." {
			folder = "./" + folder
		}
		return before + "go test " + folder + " -count=1" + run + after
	}
}
