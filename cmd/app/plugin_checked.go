package app

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// runChecked runs the scenarios of a project in C against a module that traps where C says nothing, as such a plugin answers from
// whatever its memory has there. The other languages check indices themselves.
func (t *pluginTest) runChecked(ctx context.Context, files []string) (err error) {
	toolchain, err := clang.Find(ctx)
	if err != nil {
		return err
	}
	toolchain.Names, toolchain.Checked = true, true
	code, err := toolchain.Build(ctx, t.dir)
	if err != nil {
		return err
	}
	checked, err := openModule(ctx, t.module.Loaded, code, &t.compileOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checked.close(ctx)) }()
	for _, file := range files {
		objects := &wholeObjects{context: ctx, scenario: file, note: func(string) {}}
		failed := recordedTo(&recorder{first: true}, func(tb testing.TB) {
			berthtest.Scenario(tb, file, wire.EncodeManifest(t.module.Manifest), checked.factory(ctx), berthtest.Options{Objects: objects})
		}).failed
		if len(failed) > 0 {
			if slices.Contains(t.told, failed[0]) {
				continue // it fails without checks, too
			}
			failed = append(failed, "without checks the call goes on: an index is outside of its array, a signed number overflows, or a shift or a division "+
				"has no result")
		}
		t.report("with checks of arrays and overflows: "+file, failed)
	}
	return nil
}
