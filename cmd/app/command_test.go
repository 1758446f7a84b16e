package app

import (
	"context"
	"io"
)

// run executes a command line of berth in this process and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return execute(ctx, newRoot(newProgram(), width(stdout)), args, stdout, stderr)
}
