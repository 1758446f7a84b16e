// Package child compiles modules in a separate process. It limits its time and memory before
// it reads the module, so that a module that takes very long to compile does no harm. The
// result comes back through the cache of compiled modules.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// Child is a program that calls Serve.
type Child struct {
	// Path is the program's file. Args are its arguments before those of Serve; the first
	// is its name.
	Path string
	Args []string
	// Time limits compiling one module, both by the clock and in CPU time. Memory is in
	// bytes; only Linux enforces it strictly.
	Time   time.Duration
	Memory uint64
	// TimeSetting and MemorySetting name the settings that allow more, for messages.
	TimeSetting, MemorySetting string
}

var _ sandbox.Compiler = (*Child)(nil).Compile

// Compile implements sandbox.Compiler.
//
// # Errors
//
// The program does not start, compiling took too much time or memory, or the module is not
// valid. The error says what to do. A *MemoryError means that it took too much memory, a *sandbox.BusyError that the host
// was too busy.
func (c *Child) Compile(ctx context.Context, job *sandbox.CompileJob) error {
	limited, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Path)
	cmd.Args = append(append([]string(nil), c.Args...),
		job.CacheDir, strconv.FormatUint(c.Memory, 10), c.Time.String(), strconv.Itoa(len(job.Original)))
	cmd.Stdin = io.MultiReader(bytes.NewReader(job.Original), bytes.NewReader(job.Code))
	said := &head{}
	cmd.Stderr = said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch text := said.String(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil && cmd.ProcessState != nil && c.Time >= time.Second && processorTime(cmd.ProcessState) < c.Time/2:
		return &sandbox.BusyError{Used: processorTime(cmd.ProcessState), Time: c.Time, Setting: c.TimeSetting}
	case limited.Err() != nil, cmd.ProcessState != nil && outOfTime(cmd.ProcessState):
		return fmt.Errorf("compiling it took longer than %v and was stopped: %s, or allow more with %s", c.Time, look, c.TimeSetting)
	case cmd.ProcessState == nil:
		return fmt.Errorf("start the compiler's process: %w; set %s to 0 to compile in this process", err, c.TimeSetting)
	case outOfMemory(text):
		return &MemoryError{Memory: c.Memory, Setting: c.MemorySetting}
	case strings.HasPrefix(text, storeMark):
		return &sandbox.StoreError{Err: errors.New(strings.TrimSpace(strings.TrimPrefix(text, storeMark)))}
	case strings.HasPrefix(text, mark):
		return errors.New(strings.TrimSpace(strings.TrimPrefix(text, mark)))
	default:
		return fmt.Errorf("the compiler's process failed: %w: %s", err, firstLine(text))
	}
}

func processorTime(s *os.ProcessState) time.Duration { return s.UserTime() + s.SystemTime() }

// MemoryError means that compiling a module took more than Memory bytes, which Setting sets.
type MemoryError struct {
	Memory  uint64
	Setting string
}

// Error implements error.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("compiling it took more than %d MiB of memory and was stopped: %s, or allow more with %s", e.Memory>>20, look, e.Setting)
}

// look says what a user can do about a module that takes long to compile.
const look = "do not use it unless you trust where it comes from, build it with fewer and smaller functions"

// mark begins what Serve writes about a module, and storeMark what it writes if the module is good
// and could not be stored.
const (
	mark      = "module: "
	storeMark = "store: "
)

// Serve reads two modules from in: it validates the first, the original, and compiles the
// second, the rewritten one. args are those that Compile gives the child. Serve writes to
// stderr what is wrong with a module and returns the exit status. The limits of the process
// stay, so it cannot do anything else afterwards.
func Serve(ctx context.Context, args []string, in io.Reader, stderr io.Writer) int {
	job, err := prepare(args)
	if err == nil {
		_, err = io.ReadFull(in, job.Original)
	}
	if err == nil {
		job.Code, err = io.ReadAll(in)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	var store *sandbox.StoreError
	switch err := job.Compile(ctx); {
	case errors.As(err, &store):
		fmt.Fprintln(stderr, storeMark+store.Err.Error())
		return 1
	case err != nil:
		fmt.Fprintln(stderr, mark+err.Error())
		return 1
	}
	return 0
}

// prepare reads the arguments, limits the process and allocates room for the original.
func prepare(args []string) (*sandbox.CompileJob, error) {
	if len(args) != 4 {
		return nil, errors.New("berth starts this command itself, to compile a module")
	}
	memory, err := strconv.ParseUint(args[1], 10, 63)
	if err != nil {
		return nil, err
	}
	most, err := time.ParseDuration(args[2])
	if err != nil {
		return nil, err
	}
	original, err := strconv.ParseUint(args[3], 10, 31)
	if err != nil {
		return nil, err
	}
	debug.SetMemoryLimit(int64(memory / 4 * 3)) // collect garbage before the limit is reached
	if err := limit(memory, most); err != nil {
		return nil, fmt.Errorf("limit the compiler's process: %w", err)
	}
	return &sandbox.CompileJob{CacheDir: args[0], Original: make([]byte, original)}, nil
}

// outOfMemory reports whether a Go program ended for lack of memory.
func outOfMemory(stderr string) bool {
	for _, said := range []string{"out of memory", "cannot allocate memory", "failed to create new OS thread", "pthread_create failed"} {
		if strings.Contains(stderr, said) {
			return true
		}
	}
	return false
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// head keeps the beginning of what was written to it.
type head struct{ data []byte }

const headSize = 4096

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.data = append(h.data, p[:min(len(p), headSize-len(h.data))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.data) }
