package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a child process of the test. Its methods may be called from any goroutine.
type Process struct {
	// Name distinguishes processes of one program.
	Name string

	command *exec.Cmd
	log     string
	exited  chan struct{}
	err     error // of Wait; read after exited is closed
}

// start runs a program whose output is appended to the file log.
func start(name, log, path string, args ...string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the child has a descriptor of its own
	command := exec.Command(path, args...)
	command.Stdout, command.Stderr = file, file
	command.SysProcAttr = diesWithParent()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Process{Name: name, command: command, log: log, exited: make(chan struct{})}
	go func() {
		p.err = command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Exited is closed when the process has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running reports whether the process is still running.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Wait waits for the process to exit and returns its exit status, -1 if a signal ended it. It
// fails if ctx ends first.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.exited:
		return p.command.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%s still runs: %w", p.Name, ctx.Err())
	}
}

// Stop stops the process, and kills it if it has not exited after patience. It fails if the
// process had to be killed, or had exited by itself with an error.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s did not end within %v of SIGTERM and was killed", p.Name, patience), p.Kill())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w", p.Name, p.err)
	}
	return nil
}

// Kill kills the process, and waits until it is gone.
func (p *Process) Kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.exited
	return err
}

// Pause suspends the process; its connections stay open.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume resumes a paused process.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// signal returns no error for a process that has exited.
func (p *Process) signal(s syscall.Signal) error {
	if err := p.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %v: %w", p.Name, s, err)
	}
	return nil
}

// Log returns what the process, and earlier ones of its name, have printed so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail returns the last lines of the log.
func (p *Process) Tail(lines int) string {
	text := bytes.TrimRight([]byte(p.Log()), "\n")
	for i := len(text); lines > 0 && i >= 0; lines-- {
		if i = bytes.LastIndexByte(text[:i], '\n'); lines == 1 {
			text = text[i+1:]
		}
	}
	return fmt.Sprintf("--- %s, %s\n%s\n", p.Name, filepath.Base(p.log), strings.ToValidUTF8(string(text), "?"))
}
