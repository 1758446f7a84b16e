package conformance_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/abi/wire"
)

// maxPages bounds the memory of an instance.
const maxPages = 4096

// engineModule is a module that wazero's interpreter runs.
type engineModule struct {
	*wire.Module
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// hostFunc is an imported function. It may panic with an error to make its caller trap.
type hostFunc func(i *engineInstance, args []uint64) []uint64

// engineInstance is a running instance of a module. It must not be used after a trap.
type engineInstance struct {
	m       *engineModule
	hosts   map[string]hostFunc // by "module.name"
	running api.Module
}

// engineKey is the context's key of the instance that calls a host function.
type engineKey struct{}

// loadEngine compiles a module with the features of ABI-1.1 and more, and defines its imports, whose functions an instance brings.
func loadEngine(data []byte, more api.CoreFeatures) (*engineModule, error) {
	parsed, err := wire.ReadModule(data)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(maxPages).WithCoreFeatures(api.CoreFeaturesV2 | more)
	m := &engineModule{Module: parsed, runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if m.compiled, err = m.runtime.CompileModule(ctx, data); err != nil {
		return nil, err
	}
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, f := range m.compiled.ImportedFunctions() {
		in, name, _ := f.Import()
		if hosts[in] == nil {
			hosts[in] = m.runtime.NewHostModuleBuilder(in)
		}
		call := api.GoModuleFunc(func(ctx context.Context, running api.Module, stack []uint64) {
			i := ctx.Value(engineKey{}).(*engineInstance)
			i.running = running
			copy(stack, i.hosts[in+"."+name](i, append([]uint64(nil), stack[:len(f.ParamTypes())]...)))
		})
		hosts[in].NewFunctionBuilder().WithGoModuleFunction(call, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, host := range hosts {
		if _, err := host.Instantiate(ctx); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// start instantiates the module and runs its start function.
func (m *engineModule) start(hosts map[string]hostFunc) (*engineInstance, error) {
	for _, f := range m.compiled.ImportedFunctions() {
		if in, name, _ := f.Import(); hosts[in+"."+name] == nil {
			return nil, fmt.Errorf("missing import %s.%s", in, name)
		}
	}
	i := &engineInstance{m: m, hosts: hosts}
	running, err := m.runtime.InstantiateModule(i.context(), m.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	i.running = running
	return i, err
}

func (i *engineInstance) context() context.Context {
	return context.WithValue(context.Background(), engineKey{}, i)
}

// Memory returns the linear memory; growing it invalidates the slice.
func (i *engineInstance) Memory() []byte {
	memory := i.running.Memory()
	if memory == nil {
		return nil
	}
	all, _ := memory.Read(0, memory.Size())
	return all
}

// Has reports whether a function is exported.
func (i *engineInstance) Has(name string) bool { return i.running.ExportedFunction(name) != nil }

// Call calls an exported function.
func (i *engineInstance) Call(name string, args ...uint64) ([]uint64, error) {
	f := i.running.ExportedFunction(name)
	if f == nil {
		return nil, fmt.Errorf("no exported function %s", name)
	}
	return f.Call(i.context(), args...)
}

// Read returns memory for a host function, or traps.
func (i *engineInstance) Read(at, size uint64) []byte {
	memory := i.Memory()
	if at+size > uint64(len(memory)) {
		panic(errors.New("out of bounds"))
	}
	return memory[at : at+size]
}

// Grow makes the memory larger by pages.
func (i *engineInstance) Grow(pages uint32) { i.running.Memory().Grow(pages) }
