//go:build unix

package app

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	records "github.com/berth-scheduler/berth/runtime/record"
)

// TestSimulateRecordsPart: if the recording cannot be written to its end, the results are printed, and the status
// says that something is missing.
func TestSimulateRecordsPart(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() { // the disk is full after the first line
		f, err := os.Open(pipe)
		if err == nil {
			_, err = io.ReadFull(f, make([]byte, len(records.Header)))
			_ = f.Close()
		}
		read <- err
	}()
	args := []string{"simulate", "--cluster", "../berth/demo/cluster", "--config", "../berth/demo/scheduler.yaml", "--record", pipe}
	var out, errs bytes.Buffer
	status := run(t.Context(), args, &out, &errs)
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if status != exitFailed || !strings.Contains(errs.String(), "ends here") || !strings.Contains(out.String(), "pods") {
		t.Errorf("status %d\n%s\n%s", status, out.String(), errs.String())
	}
}
