package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo"
	"github.com/berth-scheduler/berth/abi/wire"
)

// languageOf returns the language of a folder's plugin, as in --lang of plugin new.
func languageOf(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "Cargo.toml")); err == nil {
		return "rust"
	}
	if asc.Is(dir) {
		return "assemblyscript"
	}
	if c, err := clang.Files(dir); err == nil && len(c) > 0 && !hasGo(dir) { // Go packages may have C files, too
		return "c"
	}
	return "go"
}

// compileWith returns the module that build makes, with the names of its functions and without
// the manifest that the toolchain put into it. That manifest must be the given one, because handles are indices
// of its lists; if not, the error is otherwise. missing is the toolchain's error if it is
// not installed.
func (o *buildOptions) compileWith(ctx context.Context, manifest *wire.Manifest, missing error, otherwise string, build func() ([]byte, error)) ([]byte, error) {
	code, err := build()
	switch {
	case err == nil:
		return o.withoutManifest(code, manifest, otherwise)
	case ctx.Err() != nil:
		return nil, &failure{fmt.Errorf("stopped: %w", context.Cause(ctx))}
	case errors.Is(err, missing):
		return nil, &failure{err}
	}
	return nil, err
}

func (o *buildOptions) compileRust(ctx context.Context, kept, file string, manifest *wire.Manifest) ([]byte, error) {
	otherwise := fmt.Sprintf("the crate's manifest differs from %s: its MANIFEST must be include_str! of this file", file)
	return o.compileWith(ctx, manifest, cargo.ErrNoToolchain, otherwise, func() ([]byte, error) {
		toolchain, err := cargo.Find(ctx)
		if err != nil {
			return nil, err
		}
		target, err := cargoTarget(o.dir, kept)
		if err != nil {
			return nil, err
		}
		toolchain.Names = true
		return toolchain.Build(ctx, o.dir, target)
	})
}

// cargoTarget returns the folder for what cargo makes of a crate: one in $CARGO_TARGET_DIR, or else kept. Cargo's flags name
// the crate's folder, so that crates in one target would undo what the others made.
func cargoTarget(dir, kept string) (string, error) {
	target := os.Getenv("CARGO_TARGET_DIR")
	if target == "" {
		return kept, nil
	}
	crate, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(target, fmt.Sprintf("berth-%.8x", sha256.Sum256([]byte(crate)))), nil
}

func (o *buildOptions) compileC(ctx context.Context, file string, manifest *wire.Manifest, stderr io.Writer) ([]byte, error) {
	otherwise := fmt.Sprintf("the plugin's manifest differs from %s: BERTH_PLUGIN must name this file", file)
	return o.compileWith(ctx, manifest, clang.ErrNoToolchain, otherwise, func() ([]byte, error) {
		toolchain, err := clang.Find(ctx)
		if err != nil {
			return nil, err
		}
		toolchain.Names, toolchain.Warnings = true, stderr
		return toolchain.Build(ctx, o.dir)
	})
}

func (o *buildOptions) compileAssemblyScript(ctx context.Context, file string, manifest *wire.Manifest) ([]byte, error) {
	otherwise := fmt.Sprintf("the manifest in the module differs from %s: the SDK has another version, so install it again", file)
	return o.compileWith(ctx, manifest, asc.ErrNoToolchain, otherwise, func() ([]byte, error) {
		if o.asc == nil {
			found, err := asc.Find(ctx, o.dir)
			if err != nil {
				return nil, err
			}
			o.asc = found
		}
		flags := []string{"--debug"}
		if o.quick {
			flags = append(flags, "--optimizeLevel", "0")
		}
		return o.asc.Build(ctx, o.dir, file, flags...)
	})
}
