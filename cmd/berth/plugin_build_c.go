package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
	"github.com/berth-scheduler/berth/abi/wire"
)

// isC reports whether the folder holds a plugin in C: C files, and none of Go, whose
// packages may have C files, too.
func (o *buildOptions) isC() bool {
	c, err := clang.Files(o.dir)
	if err != nil || len(c) == 0 {
		return false
	}
	inGo, err := filepath.Glob(filepath.Join(o.dir, "*.go"))
	return err == nil && len(inGo) == 0
}

// compileC returns the module that clang makes of the folder, without the manifest
// that BERTH_PLUGIN put into it. file is the manifest's, which must be the same: the
// plugin's handles are numbers in its lists.
func (o *buildOptions) compileC(ctx context.Context, file string, manifest *wire.Manifest) ([]byte, error) {
	toolchain, err := clang.Find(ctx)
	if errors.Is(err, clang.ErrNoToolchain) {
		return nil, &failure{err}
	}
	var code []byte
	if err == nil {
		code, err = toolchain.Build(ctx, o.dir)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, &failure{fmt.Errorf("stopped: %w", context.Cause(ctx))}
		}
		return nil, err
	}
	return o.withoutManifest(code, manifest, fmt.Sprintf("the plugin carries another manifest than %s: BERTH_PLUGIN must name this file", file))
}
