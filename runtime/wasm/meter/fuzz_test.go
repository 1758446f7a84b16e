package meter_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// FuzzRewrite: whatever the bytes, Rewrite returns an error with an offset in
// them, or a module that wazero accepts if it accepts the original, and does not if
// one of the original's functions is not valid.
func FuzzRewrite(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.wat")
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, file := range append(files, "testdata/fuel.wat") {
		f.Add(wat.Compile(f, file, ""))
	}
	f.Add(everything(f))
	programs := rapid.Custom(generate)
	for i := range 20 {
		if module := programs.Example(i).module; len(module) < 100_000 {
			f.Add(module)
		}
	}
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(pages))
	accepts := func(module []byte) error {
		m, err := runtime.CompileModule(ctx, module)
		if err == nil {
			err = m.Close(ctx)
		}
		return err
	}
	config := meter.Config{Limits: meter.Limits{Module: 1 << 20, Locals: 200, AllLocals: 10_000}, TableMaxElements: 1 << 20}
	f.Fuzz(func(t *testing.T, module []byte) {
		out, info, err := meter.Rewrite(module, config)
		if err != nil {
			if err := offsetOf(err, len(module)); err != nil {
				t.Fatal(err)
			}
			return
		}
		if info.SizeAfter != len(out) {
			t.Errorf("%d bytes, Info says %d", len(out), info.SizeAfter)
		}
		before, after := accepts(module), accepts(out)
		invalid := before != nil && strings.Contains(before.Error(), "invalid function")
		if before == nil && after != nil || invalid && after == nil {
			t.Errorf("original: %v; rewritten: %v\n%x\n%x", before, after, module, out)
		}
	})
}
