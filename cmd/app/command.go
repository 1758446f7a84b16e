// Package app is the command berth, for programs with plugins of their own:
//
//	func main() {
//		os.Exit(app.Run(app.Command(app.WithPlugin(zone.Name, zone.New))))
//	}
//
// Such a program has all commands of berth. docs/library.md goes through it step by step.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Exit statuses.
const (
	exitOK = iota
	exitFailed
	exitBadInput
)

// Command returns the command berth with its subcommands, for [Run]. If an option cannot be used, every subcommand ends
// with that error before it does anything.
func Command(options ...Option) *cobra.Command {
	return newRoot(newProgram(options...), width(os.Stdout))
}

// Run executes the command with the process's arguments, prints its error, and returns the exit status for it. The
// first interrupt ends the work in an orderly way, the second one ends the process.
//
// # Notes
//
// Plugin modules are compiled in a process of its own: this program, started again with the argument compile-job. So
// main must call Run before it does anything that a second process may not do.
func Run(command *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	callAs(command, calledAs(os.Args[0]))
	return execute(ctx, command, os.Args[1:], os.Stdout, os.Stderr)
}

// execute executes a command line and returns the exit status.
func execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	names := newNames(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	var err error
	if caught := plugin.Guard(plugin.InQuestion, "this command", func(p *plugin.Panic) { fmt.Fprintf(stderr, "%s\n", p.Stack) }, func() {
		err = root.ExecuteContext(ctx)
	}); caught != nil {
		err = &failure{caught}
	}
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errSilent) {
		for line := range strings.Lines(plain.Lines(err.Error(), maxErrors)) {
			fmt.Fprintf(stderr, "%s: %s\n", names.called, names.in(strings.TrimSuffix(line, "\n")))
		}
	}
	if errors.As(err, new(*failure)) || errors.Is(err, context.Cause(ctx)) { // the input is not the cause of an interrupt
		return exitFailed
	}
	return exitBadInput
}

// maxErrors is the longest error text that a command prints, in bytes.
const maxErrors = 64 << 10

// errSilent is an error that the user has already seen.
var errSilent = errors.New("silent")

// failure is an error whose cause is not the input.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }
