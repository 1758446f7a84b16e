package sandbox

import (
	"context"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Guest is one instance of a plugin's code with a linear memory: a WebAssembly instance, or
// the same plugin as native code. Only one goroutine at a time uses it, and nobody calls it
// again after an error.
type Guest interface {
	// Memory returns the linear memory; a view is stale after the next call.
	Memory() []byte
	// Alloc returns the address of size bytes for the host (ABI-2.4); 0 if there is no
	// room.
	Alloc(ctx context.Context, size uint32) (uint32, error)
	// Configure hands over the configuration (ABI-2.3); false refuses it.
	Configure(ctx context.Context, config []byte) (bool, error)
	// Call calls a point's function and returns its result. TrapOf explains an error.
	Call(ctx context.Context, point abi.Point, call, lo, hi uint32) (uint32, error)
	// Close frees the instance.
	Close(ctx context.Context) error
}

// Factory makes guests of one module.
type Factory interface {
	// New makes a guest whose memory has room for a region of the given size besides its
	// own.
	New(ctx context.Context, region uint32, env *Env) (Guest, error)
	// Exports reports whether the guest has the function of a point.
	Exports(point abi.Point) bool
	// Digest names the module; empty for native code.
	Digest() string
}

// ExportOf returns the name of a point's function; empty for a point that guests do not
// have.
func ExportOf(point abi.Point) string {
	name, _ := wire.ExportOf(point)
	return name
}

// points returns the points that a guest can have.
func points() []abi.Point {
	return slices.DeleteFunc(abi.Points(), func(point abi.Point) bool { return ExportOf(point) == "" })
}
