package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/tetratelabs/wazero"

	"github.com/berth-scheduler/berth/runtime/internal/ours"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// RuntimeConfig is how modules are run.
type RuntimeConfig struct {
	// CacheDir keeps compiled modules between runs, by the digest of their bytes; empty
	// keeps them in memory. Its files run as native code, so nobody else may write to it.
	CacheDir string
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

// Runtime compiles modules. They share its cache.
type Runtime struct {
	config RuntimeConfig
	cache  wazero.CompilationCache
	dir    string // of the cache; empty if it is in memory
	own    bool   // Close removes dir
}

// NewRuntime returns a runtime; Close frees what it compiled.
func NewRuntime(config RuntimeConfig) (*Runtime, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runtime{config: config, dir: config.CacheDir}
	if r.dir == "" && config.Compiler == nil {
		r.cache = wazero.NewCompilationCache()
		return r, nil
	}
	var err error
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "berth-modules-"); err != nil {
			return nil, fmt.Errorf("folder for compiled modules: %w", err)
		}
		r.own = true
	}
	if r.cache, err = openCache(r.dir); err != nil {
		return nil, fmt.Errorf("cache of compiled modules in %s: %w", r.dir, err)
	}
	return r, nil
}

func openCache(dir string) (wazero.CompilationCache, error) {
	const others fs.FileMode = 0o022 // may write
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return nil, fmt.Errorf("others may write to it (mode %#o), and its files run as native code: chmod go-w", mode)
	}
	if !ours.File(info) {
		return nil, errors.New("it belongs to another user, and its files run as native code: use a folder of your own")
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// Close frees compiled modules. All of their instances must be closed.
func (r *Runtime) Close(ctx context.Context) error {
	err := r.cache.Close(ctx)
	if r.own {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}
