package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

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
	// CacheDir is where the result goes; empty for nowhere, which still shows that the module can
	// be compiled.
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
// The module is not valid. A *StoreError means that it was compiled, and the folder cannot be
// written.
func (j *CompileJob) Compile(ctx context.Context) error {
	if err := j.validate(ctx); err != nil {
		return err
	}
	cache, opened := openCache(j.CacheDir)
	if opened != nil { // compile it nevertheless: that is what the caller needs to know
		opened = &StoreError{Err: opened}
		cache = wazero.NewCompilationCache()
	}
	r := wazero.NewRuntimeWithConfig(ctx, compilerConfig(wazero.NewRuntimeConfig(), cache))
	_, err := r.CompileModule(ctx, j.Code)
	if err == nil {
		err = opened
	}
	return errors.Join(unstored(err), r.Close(ctx), cache.Close(ctx))
}

// BusyError means that the host gave the compiler too little processor time within Time, which Setting sets. It says nothing about the
// module.
type BusyError struct {
	Used, Time time.Duration
	Setting    string
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("compiling it was stopped after %v, in which the host gave it %v of processor time: the host is busy, which is not the "+
		"module's fault; try again, or allow more with %s", e.Time, e.Used.Round(time.Millisecond), e.Setting)
}

// StoreError means that a compiled module could not be written to the cache.
type StoreError struct{ Err error }

// Error implements error.
func (e *StoreError) Error() string {
	return "write to the cache of compiled modules: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *StoreError) Unwrap() error { return e.Err }

// unstored returns a *StoreError in place of an error about a file. Wazero writes a module when it
// has compiled it, and touches no other files.
func unstored(err error) error {
	var file *fs.PathError
	var rename *os.LinkError
	if errors.As(err, &file) || errors.As(err, &rename) {
		return &StoreError{Err: err}
	}
	return err
}

// keyLength is the length of what key returns.
const keyLength = 2 * sha256.Size

// key names the result in a cache. Another compiler compiles the module again, and may need longer.
func (j *CompileJob) key() string {
	original, code := sha256.Sum256(j.Original), sha256.Sum256(j.Code)
	sum := sha256.Sum256(slices.Concat(original[:], code[:], []byte(compiler())))
	return hex.EncodeToString(sum[:])
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

// compiler names the compiler as wazero names its part of a cache.
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
	return r.config.Compiler(ctx, job)
}
