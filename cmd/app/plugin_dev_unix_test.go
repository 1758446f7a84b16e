//go:build unix

package app

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestPluginDev: the loop of an author who breaks and repairs a plugin.
func TestRestPluginDev(t *testing.T) {
	dir := t.TempDir()
	requireToolchain(t, "c", dir)
	if _, stderr, err := process(t, dir, "plugin", "new", "rack-aware", "--lang", "c"); err != nil {
		t.Fatal(stderr)
	}
	cmd := exec.Command("berth", "plugin", "dev", "rack-aware")
	cmd.Dir = dir
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // it has ended if all went well
	lines := bufio.NewScanner(stdout)
	round := func(wants ...string) {
		t.Helper()
		var said strings.Builder
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
			if strings.HasPrefix(lines.Text(), "left out: ") || strings.HasSuffix(lines.Text(), " stay") {
				break
			}
		}
		for _, want := range wants {
			if !strings.Contains(said.String(), want) {
				t.Fatalf("%q is not said:\n%s", want, said.String())
			}
		}
		if strings.Contains(said.String(), "\x1b") || strings.Contains(said.String(), "\r") {
			t.Errorf("control codes:\n%q", said.String())
		}
	}
	source, scenario := filepath.Join(dir, "rack-aware", "plugin.c"), filepath.Join(dir, "rack-aware", "testdata", "nodes.txt")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile(scenario)
	if err != nil {
		t.Fatal(err)
	}
	const judges = "  (void)pod;\n"
	write := func(old, now string) {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("the plugin has no %q", old)
		}
		writeFiles(t, dir, map[string]string{"rack-aware/plugin.c": strings.Replace(string(text), old, now, 1)})
	}
	const tests = "as WebAssembly: rack-aware/testdata/nodes.txt"
	round("watching ", "round 1 (", "ok    "+tests+"\n", "ok    duties of guests", "ok    simulation\n", "placed on 12 nodes\n", "1 node(s) had maintenance soon",
		"size  ", "fuel  ", "berth plugin test rack-aware\n")
	write("had maintenance soon", "had maintenance later")
	round("round 2: rack-aware/plugin.c changed (", "FAIL  "+tests+" (passed in round 1)\n", "rack-aware/testdata/nodes.txt:6: got",
		": pending: 0/12 nodes are available: 1 node(s) had maintenance later")
	write(judges, judges)
	round("ok    " + tests + " (failed in round 2)\n")
	write(judges, "  frobnicate();\n")
	round("FAIL  it cannot be built", "clang in rack-aware: exit status 1\n      plugin.c:", "frobnicate", "the results of round 3 stay\n")
	write(judges, judges+"  berth_log(BERTH_INFO, \"judging\");\n")
	round("log   level=INFO msg=judging profile=default-scheduler plugin=rack-aware (")
	write(judges, judges+"  for (volatile int i = 0;; i++);\n")
	round("FAIL  "+tests, "FAIL  simulation (passed in round 5)\n", "every call of the plugin rack-aware ended in a fault, so it decided nothing; the first: ", "used its fuel")
	write(judges, judges)
	round("ok    simulation (failed in round 6)\n")
	if err := os.Remove(scenario); err != nil {
		t.Fatal(err)
	}
	round("rack-aware/testdata/nodes.txt is deleted", "FAIL  scenarios\n      no scenario file matches rack-aware/testdata/*.txt")
	writeFiles(t, dir, map[string]string{"rack-aware/testdata/nodes.txt": string(cases), "rack-aware/plugin.c": string(text)})
	round("ok    " + tests + "\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}

	// One round, which can fail, and be stopped.
	if stdout, stderr, err := process(t, dir, "plugin", "dev", "rack-aware", "--once"); err != nil || !strings.HasPrefix(stdout, "\nround 1 (") {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
	write("had maintenance soon", "had maintenance later")
	if stdout, stderr, err := process(t, dir, "plugin", "dev", "rack-aware", "--once"); err == nil || stderr != "" || !strings.Contains(stdout, "FAIL  "+tests+"\n") {
		t.Errorf("%v\n%s\n%s", err, stdout, stderr)
	}
	hangs := filepath.Join(dir, "clang")
	if err := os.WriteFile(hangs, []byte("#!/bin/sh\ncase $1 in --print-targets) echo wasm32 - ;; --target=*) [ \"$2\" = --print-prog-name=wasm-ld ] && echo sh || sleep 1000 ;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLANG", hangs)
	if stdout, _, err := process(t, dir, "plugin", "dev", "rack-aware", "--once", "--limit", "2s"); err == nil ||
		!strings.Contains(stdout, "stopped: the round took longer than 2s (--limit)\n") {
		t.Errorf("a build that hangs: %v\n%s", err, stdout)
	}
}
