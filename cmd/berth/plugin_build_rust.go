package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo"
	"github.com/berth-scheduler/berth/abi/wire"
)

// compileRust returns the module that cargo makes of the folder, without the
// manifest that the crate put into it. file is the manifest's, which must be the
// same: the crate's handles are numbers in its lists.
func (o *buildOptions) compileRust(ctx context.Context, temp, file string, manifest *wire.Manifest) ([]byte, error) {
	toolchain, err := cargo.Find(ctx)
	if errors.Is(err, cargo.ErrNoToolchain) {
		return nil, &failure{err}
	}
	var code []byte
	if err == nil {
		code, err = toolchain.Build(ctx, o.dir, temp)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, &failure{fmt.Errorf("stopped: %w", context.Cause(ctx))}
		}
		return nil, err
	}
	return o.withoutManifest(code, manifest, fmt.Sprintf("the crate carries another manifest than %s: its MANIFEST must be include_str! of this file", file))
}
