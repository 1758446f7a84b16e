package diskcache_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/smalldisk"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/diskcache"
)

// world is a folder and its caches.
type world struct {
	t     *testing.T
	dir   string
	clock *clock.Step
	log   bytes.Buffer
	held  map[string]bool
}

func newWorld(t *testing.T) *world {
	return &world{t: t, dir: filepath.Join(t.TempDir(), "cache"), clock: clock.NewStep(time.Unix(1e9, 0)), held: map[string]bool{}}
}

// cache returns a cache of another process. Its entries begin with e.
func (w *world) cache(size int64) *diskcache.Cache {
	return diskcache.New(diskcache.Config{
		Dir: w.dir, Size: size, Name: "things", Clock: w.clock, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Mine: func(name string) bool { return strings.HasPrefix(name, "e") },
		Held: func(name string) bool { return w.held[name] },
	})
}

// bytes counts what the folder takes, without the folder itself, in blocks of 4 KiB.
func (w *world) bytes() (n int64) {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == w.dir {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			n += max(0, info.Size()-1) / 4096 * 4096
		}
		n += 4096
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// names are those of the folder.
func (w *world) names() string {
	w.t.Helper()
	found, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		out = append(out, f.Name())
	}
	return strings.Join(out, " ")
}

// folder stores an entry that is a folder, as native code is.
func (w *world) folder(c *diskcache.Cache, name string, size int) {
	w.t.Helper()
	work, done, err := c.Work()
	if err != nil {
		w.t.Fatal(err)
	}
	defer done()
	if err := os.WriteFile(filepath.Join(work, "code"), make([]byte, size), 0o600); err != nil {
		w.t.Fatal(err)
	}
	c.Keep(work, name)
}

// TestSize: the folder never takes more than it may, whatever is stored, and the newest entry is
// there.
func TestSize(t *testing.T) {
	w := newWorld(t)
	const size = 1 << 20
	c := w.cache(size)
	for i := range 500 {
		w.clock.Advance(time.Second)
		name := fmt.Sprintf("e%d", i)
		if length := i * 7919 % 100_000; i%2 == 0 {
			c.Write(name, make([]byte, length))
		} else {
			w.folder(c, name, length)
		}
		if n := w.bytes(); n > size {
			t.Fatalf("%d bytes after %d entries, at most %d may be", n, i+1, size)
		}
		if !c.Find(name) {
			t.Fatalf("%s was not stored", name)
		}
	}
	if n := w.bytes(); n < size/2 {
		t.Errorf("only %d bytes are used", n)
	}
	c.Write("e-large", make([]byte, size+1))
	if c.Find("e-large") {
		t.Error("an entry is larger than the cache")
	}
	if w.log.Len() > 0 {
		t.Errorf("log: %s", w.log.String())
	}
}

// TestLeastRecentlyUsed: entries that were used long ago go first, and those in use last; what is
// not the cache's stays.
func TestLeastRecentlyUsed(t *testing.T) {
	w := newWorld(t)
	c := w.cache(40 << 10)
	write := func(name string) {
		w.clock.Advance(time.Second)
		c.Write(name, make([]byte, 8<<10))
	}
	write("e1")
	if err := os.WriteFile(filepath.Join(w.dir, "other"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"e2", "e3", "e4"} {
		write(name)
	}
	w.held["e2"] = true
	w.clock.Advance(time.Second)
	if data, ok := c.Read("e1", 8<<10); !ok || len(data) != 8<<10 {
		t.Fatalf("%d bytes, %v", len(data), ok)
	}
	write("e5")
	write("e6")
	if got, want := w.names(), "e1 e2 e5 e6 other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name := range map[string]bool{"e1": true, "e5": true, "e6": true} {
		w.held[name] = true
	}
	write("e7")
	write("e8")
	if got := w.names(); strings.Contains(got, "e7") || !strings.Contains(got, "e1 e2 e5 e6") {
		t.Errorf("entries in use were removed for others: %s", got)
	}
	if data, ok := c.Read("e1", 100); ok {
		t.Errorf("%d bytes of an entry that is too large", len(data))
	}
	// A smaller cache holds, too, though everything is in use.
	w.cache(20 << 10).Find("e1")
	if got, want := w.names(), "e5 e6 other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTwoProcesses: two caches share a folder. Neither is disturbed by what the other removes or
// stores under the same name, and together they add no more than a sixteenth.
func TestTwoProcesses(t *testing.T) {
	w := newWorld(t)
	const size = 1 << 20
	both := []*diskcache.Cache{w.cache(size), w.cache(size)}
	for i := range 400 {
		w.clock.Advance(time.Second)
		c, name := both[i*7/3%2], fmt.Sprintf("e%d", i/2)
		if i%5 < 3 {
			w.folder(c, name, 10_000)
		} else {
			c.Write(name, make([]byte, 10_000))
		}
		if n := w.bytes(); n > size+size/16 {
			t.Fatalf("%d bytes after %d entries", n, i+1)
		}
	}
	for i := range 200 {
		for _, c := range both {
			if data, ok := c.Read(fmt.Sprintf("e%d", i), 1<<20); ok && len(data) != 10_000 {
				t.Errorf("half an entry: %d bytes", len(data))
			}
		}
	}
	if w.log.Len() > 0 {
		t.Errorf("log: %s", w.log.String())
	}
}

// TestSameName: an entry that another process is reading is replaced by one of the same name, file
// or folder.
func TestSameName(t *testing.T) {
	w := newWorld(t)
	c := w.cache(1 << 20)
	w.folder(c, "e", 1)
	f, err := os.Open(filepath.Join(w.dir, "e", "code"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w.folder(c, "e", 2)
	if n, err := f.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	c.Write("e", []byte("abc"))
	if data, ok := c.Read("e", 10); !ok || string(data) != "abc" {
		t.Errorf("%q, %v", data, ok)
	}
	if got := w.names(); got != "e" || w.log.Len() > 0 {
		t.Errorf("%s: %s", got, w.log.String())
	}
}

// TestLeftOver: what a killed process left is removed after an hour, or before others when there is
// no room. What another process works on stays.
func TestLeftOver(t *testing.T) {
	w := newWorld(t)
	killed := w.cache(1 << 20)
	old, _, err := killed.Work()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old, "half"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	mark := func(dir string) {
		t.Helper()
		if err := os.Chtimes(dir, w.clock.Now(), w.clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	mark(old)
	w.clock.Advance(time.Hour)
	young, _, err := killed.Work()
	if err != nil {
		t.Fatal(err)
	}
	mark(young)
	w.clock.Advance(time.Second)
	next := w.cache(64 << 10)
	own, done, err := next.Work()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("what a killed process left is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("another process worked there: %v", err)
	}
	mark(own)
	for i := range 20 {
		w.clock.Advance(time.Second)
		next.Write(fmt.Sprintf("e%d", i), make([]byte, 8<<10))
	}
	if _, err := os.Stat(young); err == nil {
		t.Error("the oldest temporary folder outlived newer entries")
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("this process works there: %v", err)
	}
	done()
	if _, err := os.Stat(own); err == nil {
		t.Error("done removes nothing")
	}
}

// TestNoSpace: what a full disk cuts is no entry and leaves nothing; entries are written again when there is room.
func TestNoSpace(t *testing.T) {
	w := newWorld(t)
	disk := smalldisk.New(t)
	w.dir = filepath.Join(disk, "cache")
	c := w.cache(1 << 30)
	c.Write("e0", make([]byte, 300<<10))
	c.Write("e1", make([]byte, 900<<10))
	free := smalldisk.Fill(t, disk)
	c.Write("e2", []byte("abc"))
	if _, done, err := c.Work(); err == nil {
		done()
	}
	if _, ok := c.Read("e0", 1<<20); !ok {
		t.Error("an entry from before is lost")
	}
	free()
	entries, err := os.ReadDir(w.dir)
	if err != nil || len(entries) != 1 || c.Find("e1") || c.Find("e2") {
		t.Errorf("left are %v, %v", entries, err)
	}
	if n := strings.Count(w.log.String(), "no space left on device"); n != 1 {
		t.Errorf("%d lines of log: %s", n, w.log.String())
	}
	c.Write("e1", make([]byte, 300<<10))
	if data, ok := c.Read("e1", 1<<20); !ok || len(data) != 300<<10 {
		t.Error("nothing is written when there is room again")
	}
}

// TestFullDisk: a folder that cannot be written to is reported once and costs nothing else.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.dir, nil, 0o600); err != nil { // nothing can be created below a file, whoever runs the test
		t.Fatal(err)
	}
	c := w.cache(1 << 20)
	for range 3 {
		c.Write("e", []byte("abc"))
		if _, _, err := c.Work(); err == nil {
			t.Error("no error")
		}
		if _, ok := c.Read("e", 10); ok || c.Find("e") {
			t.Error("there is an entry")
		}
	}
	if n := strings.Count(w.log.String(), "the cache of things cannot be written"); n != 1 {
		t.Errorf("%d lines of log: %s", n, w.log.String())
	}
}
