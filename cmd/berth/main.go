// Command berth is a Kubernetes scheduler whose decision points are plugins.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/berth-scheduler/berth/internal/plain"
)

// version is set by the linker.
var version = "dev"

// Exit statuses.
const (
	exitOK = iota
	exitFailed
	exitBadInput
)

func main() { os.Exit(runMain()) }

// runMain is main without the exit. The first interrupt ends the work in an
// orderly way, the second one ends the process.
func runMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(width(stdout))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errSilent) {
		for line := range strings.Lines(plain.Lines(err.Error(), maxErrors)) {
			fmt.Fprintf(stderr, "berth: %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	var failed *failure
	if errors.As(err, &failed) {
		return exitFailed
	}
	return exitBadInput
}

// maxErrors is how long the text of the errors of a command is at most, in bytes.
const maxErrors = 64 << 10

// errSilent has been told to the user already.
var errSilent = errors.New("silent")

// failure is an error that is not the fault of the input.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }
