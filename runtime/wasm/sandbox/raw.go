package sandbox

import (
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// RawInstance is an instance for tools that take the place of the host: they write its
// memory and call its functions by name. It is metered like any other.
type RawInstance struct {
	guest  *instance
	points map[string]abi.Point // by the names of their functions
}

// RawInstance makes an instance whose memory has room for what the caller writes.
//
// Its clock of the day begins at clock, in seconds since 1970. The host's instances have 1640995200, as WebAssembly guests have no
// clock that tells anything (ABI-1.4); a tool finds a guest that depends on it by other times.
func (m *Module) RawInstance(ctx context.Context, l Limits, room uint32, clock int64, f HostFunctions) (*RawInstance, error) {
	l = l.WithDefaults()
	env := NewEnv(EnvConfig{Limits: l, StartFuel: l.FuelStart, Host: f})
	env.clock = clock
	g, err := m.New(ctx, room, env)
	if err != nil {
		return nil, trapped(err, env)
	}
	b := &RawInstance{guest: g.(*instance), points: map[string]abi.Point{}}
	for _, point := range points() {
		if b.guest.points[point] != nil {
			b.points[ExportOf(point)] = point
		}
	}
	return b, nil
}

// Memory returns the linear memory; a view is stale after the next call.
func (b *RawInstance) Memory() []byte { return b.guest.Memory() }

// Alloc is berth_alloc.
func (b *RawInstance) Alloc(ctx context.Context, size, align uint32) (uint32, error) {
	g := b.guest
	g.stack[0], g.stack[1] = uint64(size), uint64(align)
	if err := g.run(ctx, &g.alloc, g.env.limits.FuelStart); err != nil {
		return 0, trapped(err, g.env)
	}
	return uint32(g.stack[0]), nil
}

// Configure is berth_configure; 0 if the module does not export it.
func (b *RawInstance) Configure(ctx context.Context, address, length uint32) (int32, error) {
	g := b.guest
	if g.configure == nil {
		return 0, nil
	}
	g.env.Begin(0)
	g.stack[0], g.stack[1] = uint64(address), uint64(length)
	if err := g.run(ctx, &g.configure, g.env.limits.FuelStart); err != nil {
		return 0, trapped(err, g.env)
	}
	return int32(uint32(g.stack[0])), nil
}

// Call calls the function of a point by its name, with the fuel of a call about hi − lo
// rows.
func (b *RawInstance) Call(ctx context.Context, export string, call, lo, hi uint32) (int32, error) {
	point, ok := b.points[export]
	if !ok {
		return 0, fmt.Errorf("the module does not export %s", export)
	}
	env := b.guest.env
	env.Begin(env.limits.CallFuel(int(hi - min(lo, hi))))
	result, err := b.guest.Call(ctx, point, call, lo, hi)
	return int32(result), trapped(err, env)
}

// Close frees the instance.
func (b *RawInstance) Close(ctx context.Context) error { return b.guest.Close(ctx) }

// ExportsName reports whether a module exports a function of the ABI by its name.
func (m *Module) ExportsName(name string) bool {
	for _, point := range points() {
		if ExportOf(point) == name {
			return m.exports[point]
		}
	}
	return name == abi.ExportABI || name == abi.ExportAlloc || m.configures && name == abi.ExportConfigure
}
