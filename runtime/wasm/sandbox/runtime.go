package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/berth-scheduler/berth/runtime/internal/diskcache"
	"github.com/berth-scheduler/berth/runtime/internal/ours"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// RuntimeConfig is how modules are run.
type RuntimeConfig struct {
	// CacheDir keeps compiled modules between runs, by the digest of their bytes; empty
	// keeps them in memory. Its files run as native code, so nobody else may write to it.
	CacheDir string
	// CacheOptional runs modules without that folder for as long as it cannot be used, or others may write to it.
	CacheOptional bool
	// CacheSize is what that folder may take on the disk, in bytes; 0 means DefaultCacheSize.
	CacheSize int64
	// Compiler (optional) compiles modules into the cache, where this process finds them.
	// Without CacheDir it gets a temporary folder.
	Compiler Compiler
	// Structure limits what modules may be made of.
	Structure meter.Limits
	// Unmetered runs modules without fuel, depth and yields, and Omit without some of
	// these, to measure what they cost. Nothing stops such a guest.
	Unmetered bool
	Omit      meter.Part
	// Interpreter runs modules without compiling them. It is slow, for tests.
	Interpreter bool
	Log         *slog.Logger // optional
}

// DefaultCacheSize is the default of RuntimeConfig.CacheSize.
const DefaultCacheSize = 576 << 20

// Runtime compiles modules.
type Runtime struct {
	config RuntimeConfig
	store  *diskcache.Cache // of compiled modules; nil stores nothing
	own    string           // a folder that Close removes

	mu struct {
		sync.Mutex
		used map[string]int // how many modules were made from each entry of the store
	}
}

// NewRuntime returns a runtime; Close frees what it compiled.
func NewRuntime(config RuntimeConfig) (*Runtime, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runtime{config: config}
	r.mu.used = make(map[string]int)
	dir := config.CacheDir
	if dir == "" && config.Compiler == nil {
		return r, nil
	}
	var err error
	if dir == "" {
		if r.own, err = os.MkdirTemp("", "berth-modules-"); err != nil {
			return nil, fmt.Errorf("folder for compiled modules: %w", err)
		}
		dir = r.own
	}
	if err := private(dir); err != nil && !config.CacheOptional {
		return nil, fmt.Errorf("cache of compiled modules in %s: %w", dir, err)
	}
	r.store = diskcache.New(diskcache.Config{
		Dir: dir, Size: cmp.Or(config.CacheSize, DefaultCacheSize), Name: "compiled modules", Log: config.Log,
		Mine: isEntry, Held: r.uses,
	})
	return r, nil
}

// isEntry reports whether a name in the cache is one of CompileJob.key, or of what earlier versions
// stored.
func isEntry(name string) bool {
	return len(name) == keyLength && strings.Trim(name, "0123456789abcdef") == "" ||
		name == "bounded" || strings.HasPrefix(name, "wazero-")
}

// use notes that a module is made from an entry, until release is called.
func (r *Runtime) use(key string) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.used[key]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.mu.used[key]--; r.mu.used[key] == 0 {
			delete(r.mu.used, key)
		}
	}
}

func (r *Runtime) uses(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.used[key] > 0
}

// stores reports whether compiled modules can be stored now.
func (r *Runtime) stores() bool {
	return r.store != nil && !r.config.Interpreter && (!r.config.CacheOptional || private(r.store.Path("")) == nil)
}

// CheckCache returns why a folder cannot be a cache of compiled modules now: it cannot be made or written, or others may write to it.
func CheckCache(dir string) error {
	if err := private(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".part-check-") // a name that caches remove, if this process is killed here
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 1<<12)) // on a full disk a file can be made, and not written
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// private creates a folder, and refuses one that others may write to.
func private(dir string) error {
	const others fs.FileMode = 0o022 // may write
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return fmt.Errorf("others may write to it (mode %#o), and its files run as native code: chmod go-w", mode)
	}
	if !ours.File(info) {
		return errors.New("it belongs to another user, and its files run as native code: use a folder of your own")
	}
	return nil
}

// openCache returns a cache of wazero, in a folder or, if dir is empty, in memory.
func openCache(dir string) (wazero.CompilationCache, error) {
	if dir == "" {
		return wazero.NewCompilationCache(), nil
	}
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("cache of compiled modules in %s: %w", dir, err)
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// Close removes what only this runtime uses. All of its modules must be closed.
func (r *Runtime) Close(context.Context) error {
	if r.own == "" {
		return nil
	}
	return os.RemoveAll(r.own)
}
