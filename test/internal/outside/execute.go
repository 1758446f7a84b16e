package outside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Build builds the tests of a package under test/integration, and returns the path of the program. It takes
// no time if the program is up to date.
func (t *Tests) Build(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(t.folder, strings.ReplaceAll(pkg, "/", "-")+".test")
	// The tests look for files beside their sources, so they need the paths of these.
	command := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath=false", "-modfile="+t.tree.modfile, "-ldflags=-s -w", "-o", program, Packages+pkg)
	command.Dir = t.moduleDir
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, out)
	}
	return program, nil
}

// Run is an execution of a program that Build built.
type Run struct {
	Package, Program string
	// Args and Env are arguments and variables of the program, Flags those of the scheduler.
	Args, Env, Flags []string
}

// Execute runs a program, and returns what it prints. That tests fail is no error. When it returns, the
// program is gone with all that it started: schedulers and etcd, which outlive a program that is killed.
func (t *Tests) Execute(ctx context.Context, r Run) ([]byte, error) {
	temporary, err := os.MkdirTemp("", "berth-upstream-") // a short path, for sockets
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a left-over is harmless
	command := exec.CommandContext(ctx, r.Program, r.Args...)
	// As go test does: in the folder of the sources.
	command.Dir = t.Dir(r.Package)
	command.Env = slices.Concat(t.env, []string{"TMPDIR=" + temporary, "UPSTREAM_COMMAND=" + strings.Join(append([]string{t.command}, r.Flags...), " ")}, r.Env)
	log, err := os.CreateTemp(t.Logs, filepath.Base(r.Program)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the program has a descriptor of its own
	command.Stdout, command.Stderr = log, log
	err = executeGroup(command)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s was stopped: %w", filepath.Base(r.Program), context.Cause(ctx))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return os.ReadFile(log.Name())
}

// executeGroup runs a command in a process group of its own, and kills what is left of the group when the
// command has ended or is cancelled.
func executeGroup(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.Cancel = kill
	if err := command.Start(); err != nil {
		return err
	}
	err := command.Wait()
	if killed := kill(); killed != nil && !errors.Is(killed, syscall.ESRCH) {
		err = errors.Join(err, killed)
	}
	return err
}

// Exactly is a pattern for one test or benchmark.
func Exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
