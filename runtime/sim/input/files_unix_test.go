//go:build unix

package input

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A folder may be a link, and may contain links to files, as a mounted ConfigMap does; links to
// folders in it are not followed.
func TestFolderOfLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{
		os.MkdirAll("real/..data", 0o755),
		os.WriteFile("real/..data/a.yaml", []byte("{apiVersion: v1, kind: Node, metadata: {name: a}}"), 0o600),
		os.Symlink("..data/a.yaml", "real/a.yaml"),
		os.Symlink("..", "real/up"),
		os.Symlink("real", "link"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"real", "link", "link/"} {
		o, err := LoadCluster(t.Context(), []string{path}, false)
		if err != nil || len(o.Nodes) != 1 {
			t.Fatalf("%s gives %v, %v", path, o, err)
		}
		if s, _ := o.Source(o.Nodes[0]); s.File != filepath.Join(path, "a.yaml") {
			t.Errorf("below %s the node is in %s", path, s.File)
		}
	}
}

// A pipe is read until its writer closes it, as that of a command's output.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { written <- os.WriteFile(pipe, []byte("{apiVersion: v1, kind: Node, metadata: {name: a}}"), 0) }()
	o, err := LoadCluster(t.Context(), []string{pipe}, false)
	if err != nil || len(o.Nodes) != 1 {
		t.Errorf("a pipe gives %v, %v", o, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := LoadCluster(ctx, []string{pipe}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("without a writer: %v", err)
	}
	if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // the reader goes on
		_ = w.Close()
	}
}

// Opening a pipe of a folder, without a writer, would block forever.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe.yaml"), filepath.Join(dir, "s")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, what := range map[string]string{dir: "a pipe", socket: "a socket", "/dev/null": "a device"} {
		_, err := LoadCluster(t.Context(), []string{path}, false)
		if want := "it is " + what + ", not a file (name a file or folder)"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{pipe, dir} {
		_, err := LoadTrace(t.Context(), "openb", path, path, TraceOptions{})
		var p *fs.PathError
		if !errors.As(err, &p) || p.Path != path || !strings.Contains(err.Error(), "not a file") {
			t.Errorf("a trace in %s gives %v", path, err)
		}
	}
}
