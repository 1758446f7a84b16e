package testcache_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berth-scheduler/berth/internal/testcache"
)

// TestDir: the folder is the same again, another one with another go.sum, and folders of weeks that are long gone go.
func TestDir(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	root := t.TempDir()
	dir := func(sums string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "go.sum"), []byte(sums), 0o600); err != nil {
			t.Fatal(err)
		}
		dir, err := testcache.Dir(root, "kind")
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	first := dir("a")
	old := filepath.Join(first, "..", "..", "2020-01-0123456789abcdef")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if second := dir("b"); second == first {
		t.Error("go.sum does not matter")
	}
	if dir("a") != first {
		t.Error("the folder is another one")
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an old folder is kept")
	}
	if info, err := os.Stat(first); err != nil || !info.IsDir() {
		t.Errorf("the folder is gone: %v", err)
	}
}

// TestFile: a file is made once for a key, which changes with each text, name and content, and not with other files.
func TestFile(t *testing.T) {
	dir, sources := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(sources, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	builds := 0
	file := func(text string) {
		t.Helper()
		key, err := testcache.Key([]string{sources}, []string{".ts"}, text)
		if err != nil {
			t.Fatal(err)
		}
		data, err := testcache.File(dir, key, func() ([]byte, error) { builds++; return []byte(text), nil })
		if err != nil || string(data) != text {
			t.Errorf("%q, %v", data, err)
		}
	}
	write("a.ts", "1")
	for i, change := range []func() string{
		func() string { return "x" },
		func() string { return "y" },
		func() string { write("a.ts", "2"); return "y" },
		func() string { write("deep/b.ts", ""); return "y" },
	} {
		text := change()
		file(text)
		write("a.txt", text)
		write("node_modules/a.ts", text)
		file(text)
		if builds != i+1 {
			t.Errorf("after change %d it was built %d times", i, builds)
		}
	}
	wrong := errors.New("wrong")
	if _, err := testcache.File(dir, "wrong", func() ([]byte, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("a build that fails: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

// TestOne: of several that need a file at once, one makes it.
func TestOne(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("no locks on " + runtime.GOOS)
	}
	dir := t.TempDir()
	var builds atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			data, err := testcache.File(dir, "key", func() ([]byte, error) {
				builds.Add(1)
				runtime.Gosched()
				return []byte("made"), nil
			})
			if err != nil || string(data) != "made" {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
	group.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// TestNoHome: without HOME there is a folder all the same, and only this user has it.
func TestNoHome(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	t.Setenv("TMPDIR", t.TempDir())
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.sum"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := testcache.Dir(root, "kind")
	if err != nil || !strings.HasPrefix(dir, os.TempDir()) {
		t.Errorf("%s, %v", dir, err)
	}
}
