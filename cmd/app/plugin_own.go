package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo"
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
		cmd := exec.CommandContext(ctx, "go", "test", ".")
		if t.failed > 0 {
			cmd.Args = []string{"go", "test", "-timeout=" + t.ownLimit.String(), "."}
		}
		cmd.Dir = t.dir
		t.own(cmd)
	case "rust":
		if info, err := os.Stat(filepath.Join(t.dir, "tests")); err != nil || !info.IsDir() {
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

// own runs a command and reports whether it failed.
func (t *pluginTest) own(cmd *exec.Cmd) {
	var failed []string
	said, err := cmd.CombinedOutput()
	if err != nil {
		failed = []string{fmt.Sprintf("%v\n%s", err, bytes.TrimSpace(said))}
	}
	t.report("natively: "+strings.Join(append([]string{filepath.Base(cmd.Path)}, cmd.Args[1:]...), " "), failed)
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
		cmd := exec.CommandContext(limited, program, "--quiet")
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
