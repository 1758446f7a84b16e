package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// signature is the type of an exported function: i32s in, one i32 out.
type signature struct {
	name     string
	params   int
	required bool
}

// signatures returns the functions of the ABI that a guest can export (ABI-5).
func signatures() []signature {
	out := []signature{{abi.ExportABI, 0, true}, {abi.ExportAlloc, 2, true}, {abi.ExportConfigure, 2, false}}
	for _, point := range points() {
		name, typ := wire.ExportOf(point)
		out = append(out, signature{name, len(typ.Params), false})
	}
	return out
}

func (s signature) String() string {
	return s.name + ": (" + strings.TrimSuffix(strings.Repeat("i32, ", s.params), ", ") + ") -> i32"
}

// checkExports refuses a module that the host could not call. It relies on no earlier check.
func checkExports(m wazero.CompiledModule) error {
	var errs []error
	exported := m.ExportedFunctions()
	i32 := func(t api.ValueType) bool { return t == api.ValueTypeI32 }
	for _, want := range signatures() {
		f, ok := exported[want.name]
		switch {
		case !ok && want.required:
			errs = append(errs, fmt.Errorf("the module does not export %s", want))
		case !ok:
		case imported(f):
			errs = append(errs, fmt.Errorf("the module exports its import %s as %s, which the host calls: export a function of the module", importName(f), want))
		case len(f.ParamTypes()) != want.params || len(f.ResultTypes()) != 1 ||
			!i32(f.ResultTypes()[0]) || slices.ContainsFunc(f.ParamTypes(), func(t api.ValueType) bool { return !i32(t) }):
			errs = append(errs, fmt.Errorf("the module exports %s: (%s) -> (%s), expected %s",
				want.name, typeNames(f.ParamTypes()), typeNames(f.ResultTypes()), want))
		}
	}
	if _, ok := m.ExportedMemories()[abi.ExportMemory]; !ok {
		errs = append(errs, fmt.Errorf("the module does not export its memory as %q", abi.ExportMemory))
	}
	return errors.Join(errs...)
}

// imported reports whether a function is an import that the module exports again. If the
// host called it, it would have no guest memory to work on.
func imported(f api.FunctionDefinition) bool { _, _, ok := f.Import(); return ok }

func importName(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	return plain.Quote(module+"."+name, meter.MaxName)
}

func typeNames(types []api.ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = api.ValueTypeName(t)
	}
	return strings.Join(names, ", ")
}
