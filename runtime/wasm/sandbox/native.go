package sandbox

import (
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// NativePlugin is a plugin of the Go SDK as native code: the twin of its module. A slice is
// its linear memory.
type NativePlugin interface {
	Memory() []byte
	Alloc(size, align uint32) uint32
	Configure(address, length uint32) int32
	Call(export string, call, lo, hi uint32) int32
	Exports() []string
}

// NativeFactory makes guests of native code.
type NativeFactory struct {
	make    func(env *Env) NativePlugin
	exports map[string]bool
}

var _ Factory = (*NativeFactory)(nil)

// NewNativeFactory returns a factory that calls make for each guest.
func NewNativeFactory(make func(env *Env) NativePlugin) *NativeFactory {
	f := &NativeFactory{make: make, exports: map[string]bool{}}
	for _, name := range make(&Env{}).Exports() {
		f.exports[name] = true
	}
	return f
}

// New implements Factory.
func (f *NativeFactory) New(_ context.Context, _ uint32, env *Env) (Guest, error) {
	return &nativeGuest{plugin: f.make(env)}, nil
}

// Exports implements Factory.
func (f *NativeFactory) Exports(point abi.Point) bool { return f.exports[ExportOf(point)] }

// Digest implements Factory.
func (f *NativeFactory) Digest() string { return "" }

type nativeGuest struct{ plugin NativePlugin }

var _ Guest = (*nativeGuest)(nil)

// Memory implements Guest.
func (g *nativeGuest) Memory() []byte { return g.plugin.Memory() }

// Alloc implements Guest.
func (g *nativeGuest) Alloc(_ context.Context, size uint32) (address uint32, err error) {
	defer recoverTrap(&err)
	return g.plugin.Alloc(size, abi.RegionAlign), nil
}

// Configure implements Guest.
func (g *nativeGuest) Configure(ctx context.Context, config []byte) (ok bool, err error) {
	defer recoverTrap(&err)
	address, err := g.Alloc(ctx, uint32(len(config)))
	if err != nil || address == 0 {
		return false, err
	}
	copy(g.plugin.Memory()[address:], config)
	return g.plugin.Configure(address, uint32(len(config))) == 0, nil
}

// Call implements Guest.
func (g *nativeGuest) Call(_ context.Context, point abi.Point, call, lo, hi uint32) (result uint32, err error) {
	defer recoverTrap(&err)
	return uint32(g.plugin.Call(ExportOf(point), call, lo, hi)), nil
}

// Close implements Guest.
func (g *nativeGuest) Close(context.Context) error { return nil }

// recoverTrap turns a panic of a native plugin into the error that a trap would be.
func recoverTrap(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}
