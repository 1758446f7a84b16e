package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/internal/smalldisk"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// optionalPart is a part that has something in a folder.
type optionalPart struct {
	// begin starts the part. again uses it, or tries it again.
	begin func(t *testing.T, w *watched, dir string, log *slog.Logger) (again, stop func())
	// file (optional) is the name of what the part reads or serves in the folder. The harm "garbage" replaces it, not the folder.
	file string
	// harms are those that stop it: at the start, while it runs. It makes a folder again that is missing.
	harms map[string][2]bool
	// begins and ends are in the log once each.
	begins, ends string
}

var both2, never, atStart = [2]bool{true, true}, [2]bool{}, [2]bool{true, false}

var optionalParts = map[string]optionalPart{
	partCache: {
		begin: beginCache, begins: "cannot be used; modules are compiled without it", ends: "can be used again",
		harms: map[string][2]bool{"missing": never, "read-only": both2, "full": both2, "garbage": both2, "others may write": both2},
	},
	partSocket: {
		begin: beginSocket, file: "s", begins: "cannot serve on", ends: "served again",
		harms: map[string][2]bool{"missing": both2, "read-only": atStart, "full": never, "garbage": both2, "another listens": both2},
	},
	partIndex: {
		begin: beginIndex, file: "index.json", begins: "cannot be read|it is not known which", ends: "can be read again",
		harms: map[string][2]bool{"missing": both2, "read-only": never, "full": never, "garbage": both2},
	},
	// A recording that has begun goes on in its open file until the next segment begins.
	partRecording: {
		begin: beginRecording, begins: "ends here",
		harms: map[string][2]bool{"missing": never, "read-only": both2, "full": both2, "garbage": both2},
	},
}

// TestOptionalPaths: whatever is wrong with the path of an optional part, at the start or later, the scheduler goes on without the part,
// says so once in log, metric and event, and uses it again with the next try after it is mended.
func TestOptionalPaths(t *testing.T) {
	for name, part := range optionalParts {
		for harm, fails := range part.harms {
			for running, fails := range fails {
				t.Run(name+" "+harm+[]string{" at start", " while running"}[running], func(t *testing.T) {
					part.run(t, name, harm, running == 1, fails)
				})
			}
		}
	}
}

func (p *optionalPart) run(t *testing.T, name, harm string, running, fails bool) {
	parent := t.TempDir()
	if harm == "full" {
		parent = smalldisk.New(t)
	}
	dir := filepath.Join(parent, "d")
	folder(t, dir)
	if name == partIndex {
		writeIndex(t, dir)
	}
	w := newWatched(&program{version: "v1"})
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var mend func()
	if !running {
		mend = p.harm(t, name, harm, dir)
	}
	again, stop := p.begin(t, w, dir, log)
	if running {
		again()
		mend = p.harm(t, name, harm, dir)
	}
	state := func(when string, failed bool) {
		t.Helper()
		again()
		parts := w.optional.parts()
		if len(parts) != 1 || parts[0].Failed != failed || failed && !strings.Contains(parts[0].Failure.Note, name+" does not work, and is tried again") {
			t.Errorf("%s the parts are %+v", when, parts)
		}
		if failing(t, w, name) != failed {
			t.Errorf("%s the metric is not %v", when, failed)
		}
	}
	state("harmed", fails)
	mend()
	state("mended", false)
	stop()
	want := 0
	if fails {
		want = 1
	}
	if n := len(regexp.MustCompile(p.begins).FindAllString(out.String(), -1)); n != want {
		t.Errorf("the log has %d beginnings, want %d:\n%s", n, want, &out)
	}
	if n := strings.Count(out.String(), p.ends); p.ends != "" && n != want {
		t.Errorf("the log has %d ends, want %d:\n%s", n, want, &out)
	}
}

// harm harms the folder of a part.
func (p *optionalPart) harm(t *testing.T, name, harm, dir string) (mend func()) {
	path := filepath.Join(dir, p.file)
	switch harm {
	case "missing":
		remove(t, dir)
		return func() {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if name == partIndex {
				writeIndex(t, dir)
			}
		}
	case "read-only":
		return readOnly(t, dir)
	case "full":
		return smalldisk.Fill(t, filepath.Dir(dir))
	case "garbage":
		remove(t, path)
		if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
		return func() {
			remove(t, path)
			switch {
			case p.file == "":
				folder(t, path)
			case name == partIndex:
				writeIndex(t, dir)
			}
		}
	case "others may write":
		chmod(t, dir, 0o777)
		return func() { chmod(t, dir, 0o700) }
	case "another listens":
		remove(t, path)
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return func() { _ = l.Close() }
	}
	t.Fatal("unknown harm ", harm)
	return nil
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// readOnly makes a folder read-only. Modes do not stop root, for whom it is mounted so; files that are open can still be written.
func readOnly(t *testing.T, dir string) (mend func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		chmod(t, dir, 0o555)
		mend = func() { chmod(t, dir, 0o755) }
		t.Cleanup(mend) // so that the folder can be removed
		return mend
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("root without the right to mount has no read-only folder: ", err)
	}
	mounted := true
	mend = func() {
		if mounted {
			mounted = false
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(mend)
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return mend
}

// looks counts how often a part was looked at.
type looks struct {
	*telemetry.Metrics
	n atomic.Int64
}

// PartFailing is called at the end of each look.
func (l *looks) PartFailing(part string, failing bool) {
	l.Metrics.PartFailing(part, failing)
	l.n.Add(1)
}

// ticking returns what makes a part look again, and the ticks that it waits for.
func ticking(t *testing.T, w *watched) (again func(), ticks chan time.Time) {
	ticks = make(chan time.Time)
	l := &looks{Metrics: w.metrics}
	w.optional.metrics = l
	return func() {
		from := l.n.Load()
		ticks <- time.Time{}
		eventually.Holds(t, "it is looked again", func() bool { return l.n.Load() > from })
	}, ticks
}

func beginCache(t *testing.T, w *watched, dir string, log *slog.Logger) (again, stop func()) {
	again, ticks := ticking(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	ended := w.followCache(ctx, dir, ticks, log)
	return again, func() {
		cancel()
		<-ended
		if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
			t.Errorf("%v is left behind", left)
		}
	}
}

func beginSocket(t *testing.T, w *watched, dir string, log *slog.Logger) (again, stop func()) {
	again, ticks := ticking(t, w)
	path := filepath.Join(dir, "s")
	end := w.keepSocket(t.Context(), path, ticks, func() (*debughttp.Server, error) { return debughttp.Serve("unix", path, nil, nil, log) }, log)
	return again, func() {
		if c, err := net.Dial("unix", path); err != nil {
			t.Error(err)
		} else {
			_ = c.Close()
		}
		end()
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left behind: %v", err)
		}
	}
}

func beginIndex(t *testing.T, w *watched, dir string, log *slog.Logger) (again, stop func()) {
	var reads atomic.Int64
	y := &yanks{read: func(ctx context.Context) (*index.File, error) {
		defer reads.Add(1)
		text, err := os.ReadFile(filepath.Join(dir, "index.json"))
		if err != nil {
			return nil, err
		}
		return index.Parse(ctx, text)
	}, told: func(err error) bool { return w.optional.tell(partIndex, err) }}
	y.begin(t.Context(), nil, func(text string) { log.Warn(text) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		y.follow(ctx, time.Millisecond, time.Millisecond, func() assembly.Status { return assembly.Status{} }, log)
	}()
	return func() {
			from := reads.Load()
			eventually.Holds(t, "the index is read again", func() bool { return reads.Load() > from+2 })
		}, func() {
			cancel()
			<-ended
		}
}

func writeIndex(t *testing.T, dir string) {
	t.Helper()
	version := index.Version{Version: "1.2.0", ABI: "1.0", Points: []string{"filter"},
		Image: "sha256:" + strings.Repeat("a", 64), Module: "sha256:" + strings.Repeat("b", 64), Size: 1}
	f, _, err := index.Next(nil, []index.Plugin{{Name: "rack-aware", Repository: "ghcr.io/team/rack-aware", Versions: []index.Version{version}}},
		time.Now(), 24*time.Hour)
	var text []byte
	if err == nil {
		text, err = f.Text()
	}
	if err == nil { // at once: it may be read now
		err = os.WriteFile(filepath.Join(dir, ".next"), text, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, ".next"), filepath.Join(dir, "index.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// beginRecording records into the folder, 1.2 MiB with each use, which is more than a segment.
func beginRecording(t *testing.T, w *watched, dir string, log *slog.Logger) (again, stop func()) {
	o := recordOptions{to: dir, size: "16Mi", retry: time.Nanosecond}
	r, err := o.toFolder(log, w)
	if err != nil {
		t.Fatal(err)
	}
	r.Enter(&inbox.Settings{Seed: 7})
	steps := 300
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err == nil && disk.Blocks*uint64(disk.Bsize) <= smalldisk.Size {
		steps = 80 // there is less room
	}
	reason := make([]byte, 4096)
	return func() {
			for range steps { // which cannot be compressed
				_, _ = rand.Read(reason) // it never fails
				r.Enter(&inbox.Reject{UID: "u", Plugin: "p", Reason: string(reason)})
				r.Enter(&inbox.Step{})
				if r.Sync(); r.Full() {
					r.Begin()
				}
			}
		}, func() {
			if err := r.close(); err != nil {
				t.Error(err)
			}
		}
}

// freePort returns a port that nobody has.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// TestRequiredPaths: what a scheduler cannot run without, or would run otherwise without, is refused before anything starts, with the flag
// or the file.
func TestRequiredPaths(t *testing.T) {
	dir := t.TempDir()
	good, garbage := filepath.Join(dir, "good"), filepath.Join(dir, "garbage")
	write(t, good, "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n")
	write(t, garbage, "\x00garbage: [")
	for flag, also := range map[string][]string{
		"config": nil, "kubeconfig": nil, "settings": nil, "verification-policy": nil, "lock": nil, "plugin": nil,
		"tls-cert-file": {"--tls-private-key-file", good}, "tls-private-key-file": {"--tls-cert-file", good},
		"client-ca-file": nil, "authentication-kubeconfig": nil, "authorization-kubeconfig": nil,
	} {
		for harm, path := range map[string]string{"missing": filepath.Join(dir, "missing"), "garbage": garbage, "a folder": dir} {
			t.Run(flag+" "+harm, func(t *testing.T) {
				args := append([]string{"run", "--secure-port", "0", "--bind-address", "127.0.0.1", "--debug-socket", filepath.Join(t.TempDir(), "s"), "--module-cache", "none"}, also...)
				if flag != "kubeconfig" {
					args = append(args, "--kubeconfig", good)
				}
				if strings.Contains(flag, "tls") || strings.Contains(flag, "client-ca") || strings.Contains(flag, "auth") {
					args[2] = freePort(t) // it is read to serve
				}
				var out bytes.Buffer
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				status := run(ctx, append(args, "--"+flag, path), &out, &out)
				if status != exitBadInput || !strings.Contains(out.String(), "--"+flag) && !strings.Contains(out.String(), path) ||
					strings.Contains(out.String(), "berth starts") {
					t.Errorf("status %d: %s", status, &out)
				}
			})
		}
	}
}
