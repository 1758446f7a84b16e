//go:build unix

package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/berth-scheduler/berth/internal/procgroup"
)

// TestSet: the end of the context ends what the command started, which would hold the pipe open for an hour.
func TestSet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := procgroup.Set(exec.CommandContext(ctx, "sh", "-c", "sleep 3600 & echo started; wait"))
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("the command was not ended")
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v", rest, err)
	}
}

// TestSetEnded: a command that ends by itself has no error.
func TestSetEnded(t *testing.T) {
	if err := procgroup.Set(exec.CommandContext(t.Context(), "true")).Run(); err != nil {
		t.Error(err)
	}
}
