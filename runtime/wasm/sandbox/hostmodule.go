package sandbox

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// envKey is the key under which a guest's context carries its Env.
type envKey struct{}

// hostModule makes the functions of ABI section 7 in a runtime. They work on the Env in the
// context that the guest was called with.
func hostModule(ctx context.Context, r wazero.Runtime) error {
	i32 := api.ValueTypeI32
	b := r.NewHostModuleBuilder(abi.HostModule)
	b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(hostLog), []api.ValueType{i32, i32, i32}, nil).Export(abi.HostLog)
	b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(hostStateGet), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export(abi.HostStateGet)
	b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(hostStateSet), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export(abi.HostStateSet)
	b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(hostPublishedGet), []api.ValueType{i32, i32, i32}, []api.ValueType{i32}).Export(abi.HostPublishedGet)
	b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(hostPodObject), []api.ValueType{i32, i32, i32}, []api.ValueType{i32}).Export(abi.HostPodObject)
	b.NewFunctionBuilder().WithGoModuleFunction(hostFunc(hostNodeObject), []api.ValueType{i32, i32, i32}, []api.ValueType{i32}).Export(abi.HostNodeObject)
	_, err := b.Instantiate(ctx)
	return err
}

// hostFunc adapts a function on Env and memory. A panic with badAddress or errNoFuel is a
// trap of the guest (ABI-7.6). Any other panic is a mistake of the host.
func hostFunc(f func(env *Env, m api.Memory, stack []uint64)) api.GoModuleFunction {
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
		env := ctx.Value(envKey{}).(*Env)
		defer func() {
			switch r := recover(); r.(type) {
			case nil:
			case badAddress:
				panic(r)
			default:
				if r == any(errNoFuel) {
					panic(r)
				}
				env.panicked = &hostPanic{value: r, stack: debug.Stack()}
				panic(fmt.Errorf("the host failed: %v", r))
			}
		}()
		f(env, mod.Memory(), stack)
	})
}

// badAddress is the panic value for an address outside of the memory.
type badAddress struct {
	function        string
	address, length uint32
}

func (b badAddress) Error() string {
	return fmt.Sprintf("%s.%s: %d bytes at %#x are out of bounds", abi.HostModule, b.function, b.length, b.address)
}

// read returns memory of the guest. It is stale after the call.
func read(function string, m api.Memory, address, length uint64) []byte {
	data, ok := m.Read(uint32(address), uint32(length))
	if !ok {
		panic(badAddress{function: function, address: uint32(address), length: uint32(length)})
	}
	return data
}

func hostLog(env *Env, m api.Memory, stack []uint64) {
	text := read(abi.HostLog, m, stack[1], stack[2])
	kept := plain.CutWith(string(text[:min(len(text), abi.MaxLogText+1)]), abi.MaxLogText, "")
	env.Charge(priceOfLog(len(kept)))
	env.Log(int(int32(stack[0])), kept)
}

func hostStateGet(env *Env, m api.Memory, stack []uint64) {
	key, buffer := read(abi.HostStateGet, m, stack[0], stack[1]), read(abi.HostStateGet, m, stack[2], stack[3])
	env.Charge(priceOfKey)
	value, ok := env.StateGet(string(key[:min(len(key), abi.MaxStateKeySize+1)]))
	stack[0] = give(env, buffer, value, ok)
}

// give copies a value to a guest's buffer if it fits, and returns its length; −1 if there is
// no value. A value that does not fit costs the same.
func give(env *Env, buffer, value []byte, ok bool) uint64 {
	if !ok {
		return api.EncodeI32(-1)
	}
	env.Charge(priceOfCopy(len(value)))
	if len(value) <= len(buffer) {
		copy(buffer, value)
	}
	return api.EncodeI32(int32(len(value)))
}

func hostPublishedGet(env *Env, m api.Memory, stack []uint64) {
	buffer := read(abi.HostPublishedGet, m, stack[1], stack[2])
	env.Charge(priceOfKey)
	value, ok := env.PublishedGet(uint32(stack[0]))
	stack[0] = give(env, buffer, value, ok)
}

func hostPodObject(env *Env, m api.Memory, stack []uint64) {
	buffer := read(abi.HostPodObject, m, stack[1], stack[2])
	value, ok := env.PodObject(uint32(stack[0]))
	stack[0] = give(env, buffer, value, ok)
}

func hostNodeObject(env *Env, m api.Memory, stack []uint64) {
	buffer := read(abi.HostNodeObject, m, stack[1], stack[2])
	value, ok := env.NodeObject(uint32(stack[0]))
	stack[0] = give(env, buffer, value, ok)
}

func hostStateSet(env *Env, m api.Memory, stack []uint64) {
	key, value := read(abi.HostStateSet, m, stack[0], stack[1]), read(abi.HostStateSet, m, stack[2], stack[3])
	value = value[:min(len(value), abi.MaxStateValue+1)] // more is refused anyway
	env.Charge(priceOfSet(len(value)))
	if env.StateSet(string(key[:min(len(key), abi.MaxStateKeySize+1)]), value) {
		stack[0] = 0
	} else {
		stack[0] = api.EncodeI32(-1)
	}
}

// meterModule makes the function that rewritten modules import.
func meterModule(ctx context.Context, r wazero.Runtime) error {
	yield := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
		stack[0] = 0
		env := ctx.Value(envKey{}).(*Env)
		env.deepen()
		if env.yield() {
			stack[0] = 1
		}
	})
	_, err := r.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(yield, nil, []api.ValueType{api.ValueTypeI32}).Export(meter.YieldImport).Instantiate(ctx)
	return err
}
