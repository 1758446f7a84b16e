package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/smalldisk"
	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// TestSocketFails: whatever is wrong with the socket of --debug-socket, at the start or later, the scheduler goes on without it, says so
// once in log, metric and event, and serves on it again with the next try after it is mended.
func TestSocketFails(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(t *testing.T, path string) (mend func())
		late bool // it can also happen to a socket that is served
	}{
		"missing folder": {func(t *testing.T, path string) func() {
			remove(t, filepath.Dir(path))
			return func() { folder(t, filepath.Dir(path)) }
		}, true},
		"folder is a file": {func(t *testing.T, path string) func() {
			remove(t, filepath.Dir(path))
			put(t, filepath.Dir(path))
			return func() {
				remove(t, filepath.Dir(path))
				folder(t, filepath.Dir(path))
			}
		}, false},
		"a file has its name": {func(t *testing.T, path string) func() {
			put(t, path)
			return func() { remove(t, path) }
		}, false},
		"another listens": {func(t *testing.T, path string) func() {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = l.Close() }
		}, false},
	} {
		for _, running := range []bool{false, true} {
			if running && !test.late {
				continue
			}
			t.Run(name+map[bool]string{false: " at start", true: " while running"}[running], func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "d", "s")
				folder(t, filepath.Dir(path))
				w := newWatched(&program{version: "v1"})
				var out bytes.Buffer
				log := slog.New(slog.NewTextHandler(&out, nil))
				ticks := make(chan time.Time)
				tick := func() { // the second one is taken when the first was handled
					ticks <- time.Time{}
					ticks <- time.Time{}
				}
				listen := func() (*debughttp.Server, error) { return debughttp.Serve("unix", path, nil, nil, log) }
				var mend func()
				if !running {
					mend = test.harm(t, path)
				}
				stop := w.keepSocket(t.Context(), path, ticks, listen, log)
				if running {
					mend = test.harm(t, path)
				}
				tick()
				state := func(want bool, lines, ends int) {
					t.Helper()
					parts := w.optional.parts()
					if len(parts) != 1 || parts[0].Failed != want || want && !strings.Contains(parts[0].Failure.Note, "debug-socket does not work") {
						t.Errorf("parts are %+v", parts)
					}
					if got := failing(t, w, partSocket); got != want {
						t.Errorf("the metric says %v", got)
					}
					if n, m := strings.Count(out.String(), "cannot serve on"), strings.Count(out.String(), "served again"); n != lines || m != ends {
						t.Errorf("the log has %d beginnings and %d ends:\n%s", n, m, &out)
					}
				}
				tick()
				state(true, 1, 0)
				mend()
				tick()
				state(false, 1, 1)
				if c, err := net.Dial("unix", path); err != nil {
					t.Error(err)
				} else {
					_ = c.Close()
				}
				stop()
				if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the socket is left behind: %v", err)
				}
			})
		}
	}
}

// TestCacheFails: whatever is wrong with the folder of --module-cache, at the start or later, log, metric and event say so once, and that
// it is over once it is mended.
func TestCacheFails(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string) (mend func()){
		"a file has its name": func(t *testing.T, dir string) func() {
			remove(t, dir)
			put(t, dir)
			return func() { remove(t, dir) }
		},
		"others may write": func(t *testing.T, dir string) func() {
			mode := func(m os.FileMode) {
				if err := os.Chmod(dir, m); err != nil {
					t.Fatal(err)
				}
			}
			mode(0o777)
			return func() { mode(0o700) }
		},
		"full": func(t *testing.T, dir string) func() { return smalldisk.Fill(t, filepath.Dir(dir)) },
	} {
		for _, running := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " at start", true: " while running"}[running], func(t *testing.T) {
				parent := t.TempDir()
				if name == "full" {
					parent = smalldisk.New(t)
				}
				dir := filepath.Join(parent, "d")
				folder(t, dir)
				w := newWatched(&program{version: "v1"})
				var out bytes.Buffer
				ticks := make(chan time.Time)
				var mend func()
				if !running {
					mend = harm(t, dir)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := w.followCache(ctx, dir, ticks, slog.New(slog.NewTextHandler(&out, nil)))
				if running {
					mend = harm(t, dir)
				}
				for _, failed := range []bool{true, false} {
					ticks <- time.Time{}
					ticks <- time.Time{} // taken when the first was handled
					ticks <- time.Time{}
					parts := w.optional.parts()
					if len(parts) != 1 || parts[0].Failed != failed || failing(t, w, partCache) != failed {
						t.Errorf("failed: %v, want %v: %+v", failing(t, w, partCache), failed, parts)
					}
					if failed {
						mend()
					}
				}
				stop()
				<-ended
				if n, m := strings.Count(out.String(), "cannot be used"), strings.Count(out.String(), "can be used again"); n != 1 || m != 1 {
					t.Errorf("the log has %d beginnings and %d ends:\n%s", n, m, &out)
				}
				if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
					t.Errorf("%v is left behind", left)
				}
			})
		}
	}
}

// TestRecordingFails: events and metrics tell of a recording that stops and goes on.
func TestRecordingFails(t *testing.T) {
	w := newWatched(&program{version: "v1"})
	for _, err := range []error{nil, errors.New("no space left on device"), nil} {
		w.Recording(err)
		parts := w.optional.parts()
		failed := err != nil
		if len(parts) != 1 || parts[0].Failed != failed || failed && !strings.Contains(parts[0].Failure.Note, err.Error()) ||
			failing(t, w, partRecording) != failed {
			t.Errorf("after %v: %+v", err, parts)
		}
	}
}

// failing returns what the metric says of a part.
func failing(t *testing.T, w *watched, part string) bool {
	t.Helper()
	response := httptest.NewRecorder()
	w.metrics.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	series := fmt.Sprintf("berth_part_failing{part=%q} ", part)
	_, value, found := strings.Cut(response.Body.String(), series)
	if !found {
		t.Errorf("there is no metric of %s", part)
	}
	return strings.HasPrefix(value, "1")
}

func folder(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
