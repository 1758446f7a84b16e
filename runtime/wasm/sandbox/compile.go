package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/tetratelabs/wazero"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// CompileJob is a module to be compiled into a cache.
type CompileJob struct {
	// Original is the module before rewriting, which must be valid by itself; empty if
	// the module is not rewritten.
	Original []byte
	// Code is the module after rewriting.
	Code []byte
	// CacheDir is where the result goes.
	CacheDir string
}

// Compiler compiles a module into its cache, perhaps in another process. An error means that
// the module must not be used.
type Compiler func(ctx context.Context, job *CompileJob) error

// Compile validates and compiles the module in this process. Only the limits of its
// structure bound the time and memory that it takes.
//
// # Errors
//
// The module is not valid, or the folder cannot be used.
func (j *CompileJob) Compile(ctx context.Context) error {
	if err := j.validate(ctx); err != nil {
		return err
	}
	cache, err := openCache(j.CacheDir)
	if err != nil {
		return fmt.Errorf("cache of compiled modules in %s: %w", j.CacheDir, err)
	}
	r := wazero.NewRuntimeWithConfig(ctx, compilerConfig(wazero.NewRuntimeConfig(), cache))
	_, err = r.CompileModule(ctx, j.Code)
	return errors.Join(err, r.Close(ctx), cache.Close(ctx))
}

// validate checks the original against the rules of WebAssembly, so that the rewriter is not
// the only one that could notice an invalid module.
func (j *CompileJob) validate(ctx context.Context) error {
	if len(j.Original) == 0 {
		return nil
	}
	code, err := meter.WithoutNames(j.Original)
	if err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithDebugInfoEnabled(false))
	_, err = r.CompileModule(ctx, code)
	if err != nil {
		err = fmt.Errorf("it is not valid WebAssembly: %w", plain.Error(err, fault.MaxDetail))
	}
	return errors.Join(err, r.Close(ctx))
}

// compilerConfig returns the settings that a compiled module depends on.
func compilerConfig(base wazero.RuntimeConfig, cache wazero.CompilationCache) wazero.RuntimeConfig {
	return base.WithCompilationCache(cache).WithMemoryLimitPages(memoryPages).WithDebugInfoEnabled(false)
}

// memoryPages is the maximum of a memory in the code: one page less than possible, since the
// size of 4 GiB is not a u32. The memory itself knows how far an instance may grow, so that
// neither limits.memory nor the size of the cluster is a reason to compile a module again.
const memoryPages = 1<<16 - 1

// knownDir is a folder in the cache. It has a folder for each compiler, with a file for each
// module that was validated and compiled within its bounds, so that it need not be again.
const knownDir = "bounded"

// compiler names the compiler as wazero names its part of a cache. Another version compiles
// modules again, and may need longer.
func compiler() string {
	version := "dev"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/tetratelabs/wazero" {
				version = d.Version
			}
		}
	}
	return fmt.Sprintf("wazero-%s-%s-%s", version, runtime.GOARCH, runtime.GOOS)
}

// before lets the runtime's Compiler compile a module before this process does. Without a
// Compiler it validates the module here.
func (r *Runtime) before(ctx context.Context, job *CompileJob) error {
	if r.config.Compiler == nil || r.config.Interpreter {
		return job.validate(ctx)
	}
	original, code := sha256.Sum256(job.Original), sha256.Sum256(job.Code)
	both := sha256.Sum256(append(original[:], code[:]...))
	known := filepath.Join(r.dir, knownDir, compiler(), hex.EncodeToString(both[:]))
	if _, err := os.Stat(known); err == nil {
		return nil
	}
	if err := r.config.Compiler(ctx, job); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(known), 0o700); err != nil {
		return err
	}
	return os.WriteFile(known, nil, 0o600)
}
