package wasm

import (
	"context"
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// HostFunctions are functions of the host that a tool serves instead of a Plugin; what they
// return is copied.
type HostFunctions interface {
	Log(level int, text string)
	StateGet(key string) ([]byte, bool)
	StateSet(key string, value []byte) bool
	PublishedGet(index uint32) ([]byte, bool)
	PodObject(index uint32) ([]byte, bool)
	NodeObject(row uint32) ([]byte, bool)
}

var _ HostFunctions = (*Env)(nil)

// RawInstance is an instance of a module without a Plugin, for tools that take the
// host's place. It is metered as ever.
type RawInstance struct {
	guest  *instanceGuest
	points map[string]abi.Point // by the names of their functions
}

// RawInstance makes an instance with a memory that has room for what the caller writes.
func (m *Module) RawInstance(ctx context.Context, l Limits, room uint32, f HostFunctions) (*RawInstance, error) {
	l = l.WithDefaults()
	env := &Env{allowance: allowance{limits: l}, starting: l.FuelStart, serve: f}
	g, err := m.New(ctx, room, env)
	if err != nil {
		return nil, err
	}
	b := &RawInstance{guest: g.(*instanceGuest), points: map[string]abi.Point{}}
	for _, point := range points() {
		if b.guest.points[point] != nil {
			b.points[exportOf(point)] = point
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
	if err := g.run(ctx, g.alloc, g.env.limits.FuelStart); err != nil {
		return 0, trapped(err)
	}
	return uint32(g.stack[0]), nil
}

// Configure is berth_configure; 0 if the module does not export it.
func (b *RawInstance) Configure(ctx context.Context, address, length uint32) (int32, error) {
	g := b.guest
	if g.configure == nil {
		return 0, nil
	}
	g.stack[0], g.stack[1] = uint64(address), uint64(length)
	if err := g.run(ctx, g.configure, g.env.limits.FuelStart); err != nil {
		return 0, trapped(err)
	}
	return int32(uint32(g.stack[0])), nil
}

// Call calls the function of a point by its name, with the fuel of a call about
// hi − lo rows.
func (b *RawInstance) Call(ctx context.Context, export string, call, lo, hi uint32) (int32, error) {
	point, ok := b.points[export]
	if !ok {
		return 0, fmt.Errorf("the module does not export %s", export)
	}
	b.guest.env.next = b.guest.env.limits.grant(int(hi - min(lo, hi)))
	result, err := b.guest.Call(ctx, point, call, lo, hi)
	return int32(result), trapped(err)
}

// trapped returns the error of a call with a text that can be shown.
func trapped(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), ofTheHost)
	return &trapError{text: plain.Lines(text, fault.MaxDetail+fault.MaxTrace), err: err}
}

// trapError is an error with another text.
type trapError struct {
	text string
	err  error
}

func (e *trapError) Error() string { return e.text }

func (e *trapError) Unwrap() error { return e.err }

// Close frees the instance.
func (b *RawInstance) Close(ctx context.Context) error { return b.guest.Close(ctx) }

// ExportsName reports whether a module exports a function of the ABI by its name.
func (m *Module) ExportsName(name string) bool {
	for _, point := range points() {
		if exportOf(point) == name {
			return m.exports[point]
		}
	}
	return name == abi.ExportABI || name == abi.ExportAlloc || m.configures && name == abi.ExportConfigure
}
