package wasm

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
	// Original is the module as it came, which must be valid by itself; empty if Code
	// is all there is.
	Original []byte
	// Code is the module as rewritten.
	Code []byte
	// CacheDir gets the result.
	CacheDir string
	// Pages is the memory limit, in pages of 64 KiB, which is part of the result.
	Pages uint32
}

// Compiler compiles a module into its cache, in another process if need be. An error
// means that the module must not be used.
type Compiler func(ctx context.Context, job *CompileJob) error

// Compile validates and compiles the module in this process, without bounds of time and
// memory besides those of its structure.
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
	r := wazero.NewRuntimeWithConfig(ctx, compilerConfig(wazero.NewRuntimeConfig(), cache, j.Pages))
	_, err = r.CompileModule(ctx, j.Code)
	return errors.Join(err, r.Close(ctx), cache.Close(ctx))
}

// validate holds the original against the rules of WebAssembly, so that it does not
// depend on the rewriter alone whether a module that breaks them is noticed.
func (j *CompileJob) validate(ctx context.Context) error {
	if len(j.Original) == 0 {
		return nil
	}
	code, err := meter.WithoutNames(j.Original)
	if err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(j.Pages).WithDebugInfoEnabled(false))
	_, err = r.CompileModule(ctx, code)
	if err != nil {
		err = fmt.Errorf("it is not valid WebAssembly: %w", plain.Error(err, fault.MaxDetail))
	}
	return errors.Join(err, r.Close(ctx))
}

// compilerConfig is what a compiled module depends on.
func compilerConfig(base wazero.RuntimeConfig, cache wazero.CompilationCache, pages uint32) wazero.RuntimeConfig {
	return base.WithCompilationCache(cache).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
}

// knownDir is the folder in a cache with a file for each module that was validated and
// compiled within its bounds, in a folder for each compiler: it is not asked for again.
const knownDir = "bounded"

// compiler names what compiles, as wazero names its part of a cache: what another version
// has compiled is compiled anew, and may take this one longer.
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

// before lets the runtime's Compiler see a module before this process compiles it. Without
// one the module is validated here.
func (r *Runtime) before(ctx context.Context, job *CompileJob) error {
	if r.config.Compiler == nil || r.config.Interpreter {
		return job.validate(ctx)
	}
	original, code := sha256.Sum256(job.Original), sha256.Sum256(job.Code)
	both := sha256.Sum256(append(original[:], code[:]...))
	known := filepath.Join(r.dir, knownDir, compiler(), fmt.Sprintf("%s-%d", hex.EncodeToString(both[:]), job.Pages))
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
