//go:build unix

package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptEndsReading: no file that nobody writes to keeps a command from ending.
func TestInterruptEndsReading(t *testing.T) {
	dir := t.TempDir()
	module := filepath.Join(dir, "m.wasm")
	write(t, module, "")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what still waits for a writer ends
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	for _, line := range []string{
		"config check PIPE",
		"config check --settings PIPE",
		"run --config PIPE",
		"run --kubeconfig PIPE",
		"run --verification-policy PIPE",
		"run --lock PIPE",
		"simulate --cluster testdata/cluster --config PIPE",
		"simulate --cluster PIPE",
		"whatif --pods PIPE",
		"whatif --cluster testdata/cluster --pods PIPE",
		"whatif --recording PIPE --remove-node n",
		"explain ns/p --server https://127.0.0.1:1 --token-file PIPE",
		"explain ns/p --server https://127.0.0.1:1 --certificate-authority PIPE",
		"explain ns/p --lease kube-system/berth --kubeconfig PIPE",
		"replay PIPE",
		"ui PIPE",
		"plugin sign MODULE --key PIPE",
		"plugin verify MODULE --key PIPE",
		"plugin verify MODULE --policy PIPE",
		"plugin sbom PIPE",
	} {
		t.Run(line, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("interrupt signal received"))
			args := strings.Fields(strings.NewReplacer("PIPE", pipe, "MODULE", module).Replace(line))
			var stdout, stderr bytes.Buffer
			if status := run(ctx, args, &stdout, &stderr); status != exitFailed || !strings.HasSuffix(stderr.String(), "interrupt signal received\n") {
				t.Errorf("status %d, stdout %q, stderr %q", status, stdout.String(), stderr.String())
			}
		})
	}
}
