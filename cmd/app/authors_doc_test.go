package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRestAuthorsDebug: a new plugin in C is built natively, and stopped by gdb, with the program and the commands of docs/authors.md.
func TestRestAuthorsDebug(t *testing.T) {
	dir := t.TempDir()
	requireToolchain(t, "c", dir)
	text, err := os.ReadFile("../../docs/authors.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```c\n(.*?)```").FindSubmatch(text)
	commands := regexp.MustCompile(`(?s)\$ (clang [^\n]*) && gdb -q \./debug\n(.*?)\$1 = 1\n`).FindSubmatch(text)
	if program == nil || commands == nil {
		t.Fatal("docs/authors.md does not have the program and the commands")
	}
	if _, stderr, err := process(t, dir, "plugin", "new", "rack-aware", "--lang", "c"); err != nil {
		t.Fatal(stderr)
	}
	project := filepath.Join(dir, "rack-aware")
	writeFiles(t, project, map[string]string{"debug_test.c": string(program[1])})
	in := func(args ...string) string {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = project
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	in(strings.Fields(string(commands[1]))...)
	in("./debug")
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed")
	}
	args := []string{"gdb", "-q", "-batch"}
	for line := range strings.Lines(string(commands[2])) {
		args = append(args, "-ex", strings.TrimSpace(strings.TrimPrefix(line, "(gdb)")))
	}
	if out := in(append(args, "./debug")...); !strings.Contains(out, "\n$1 = 1\n") {
		t.Errorf("gdb says:\n%s", out)
	}
}
