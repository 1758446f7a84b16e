package outside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is a shell script that starts another process, as a test program starts etcd, and tells its id.
func program(t *testing.T, ends string) (tests *Tests, r Run, child func() string) {
	dir := t.TempDir()
	tests = &Tests{Logs: dir, tree: tree{dir: dir}, env: os.Environ(), command: "scheduler run"}
	if err := os.MkdirAll(tests.Dir("p"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nsleep 1000 &\necho \"$UPSTREAM_COMMAND\" > out\necho $! > unfinished\nmv unfinished child\necho \"args $*\"\n" + ends + "\n"
	r = Run{Package: "p", Program: filepath.Join(dir, "script"), Args: []string{"-a"}, Flags: []string{"--b"}}
	if err := os.WriteFile(r.Program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return tests, r, func() string {
		id, _ := os.ReadFile(filepath.Join(tests.Dir("p"), "child"))
		return strings.TrimSpace(string(id))
	}
}

// gone waits until a process does not run any more; one that nobody has waited for yet counts as gone.
func gone(t *testing.T, id string) {
	for range 600 {
		status, err := os.ReadFile("/proc/" + id + "/stat")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || err == nil && strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %s still runs", id)
}

// TestInterrupted: a program that is interrupted ends with all that it started.
func TestInterrupted(t *testing.T) {
	tests, r, child := program(t, "wait")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for child() == "" {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := tests.Execute(ctx, r); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "script was stopped") {
		t.Errorf("got %v", err)
	}
	gone(t, child())
}

// TestLeftBehind: what a program leaves behind that fails ends too, and that it fails is no error.
func TestLeftBehind(t *testing.T) {
	tests, r, child := program(t, "exit 3")
	out, err := tests.Execute(t.Context(), r)
	if err != nil || string(out) != "args -a\n" {
		t.Errorf("got %q, %v", out, err)
	}
	gone(t, child())
	command, err := os.ReadFile(filepath.Join(tests.Dir("p"), "out"))
	if err != nil || string(command) != "scheduler run --b\n" {
		t.Errorf("got %q, %v", command, err)
	}
}

// TestExactly: a pattern matches one name on each level.
func TestExactly(t *testing.T) {
	if got := Exactly("Test/a.b"); got != `^Test$/^a\.b$` {
		t.Errorf("got %s", got)
	}
}
