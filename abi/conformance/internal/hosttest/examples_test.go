package hosttest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/testrest"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// TestExamples: the example plugins fulfil the duties of guests, as native code behind the ABI
// of a module.
func TestExamples(t *testing.T)     { fulfilDuties(t) }
func TestRestExamples(t *testing.T) { fulfilDuties(t) }

func fulfilDuties(t *testing.T) {
	t.Helper()
	csr, dense := wasmexamples.Reference()
	all := append(wasmexamples.All(), wasmexamples.EveryPoint(), csr, dense)
	if !testrest.In(t) {
		all = all[:3] // slow: each is a whole check, of all duties
	}
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			man, err := wire.DecodeManifest(e.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			report, err := conformance.Check(t.Context(), guest{e.New}, man, conformance.Options{Config: e.Config, Seed: 1, Cycles: 24})
			if err != nil {
				t.Fatal(err)
			}
			if !report.OK() {
				t.Error(report)
			}
		})
	}
}

// guest is a plugin of the Go SDK.
type guest struct{ make func() berth.Plugin }

// New implements conformance.Guest.
func (g guest) New(_ context.Context, f conformance.Functions) (conformance.Instance, error) {
	return &instance{berth.NewNative(g.make(), f)}, nil
}

// Exports implements conformance.Guest.
func (g guest) Exports(name string) bool {
	return slices.Contains(berth.Implements(g.make()), name)
}

// instance implements conformance.Instance.
type instance struct{ *berth.Native }

// trapped converts a panic to a trap, which it would be in a module.
func trapped(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

func (i *instance) Alloc(_ context.Context, size, align uint32) (at uint32, err error) {
	defer trapped(&err)
	return i.Native.Alloc(size, align), nil
}

func (i *instance) Configure(_ context.Context, at, length uint32) (result int32, err error) {
	defer trapped(&err)
	return i.Native.Configure(at, length), nil
}

func (i *instance) Call(_ context.Context, export string, call, lo, hi uint32) (result int32, err error) {
	defer trapped(&err)
	return i.Native.Call(export, call, lo, hi), nil
}

func (i *instance) Close(context.Context) error { return nil }
