package wasm_test

import (
	"encoding/binary"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// tiny is a guest of native code: a bump allocator, and a function for all points.
type tiny struct {
	memory  []byte
	top     uint32
	exports []string
	env     *sandbox.Env
	// limit is the maximum of the memory; 0 for no limit.
	limit uint32
	point func(g *tiny, export string, call, lo, hi uint32) int32
}

func (g *tiny) Memory() []byte { return g.memory }

func (g *tiny) Alloc(size, align uint32) uint32 {
	at := max(4096, g.top+align-1) &^ (align - 1)
	if g.limit > 0 && at+size > g.limit {
		return 0
	}
	if end := int(at + size); end > len(g.memory) {
		g.memory = append(g.memory, make([]byte, end-len(g.memory))...)
	}
	g.top = at + size
	return at
}

func (g *tiny) Configure(uint32, uint32) int32 { return 0 }

func (g *tiny) Call(export string, call, lo, hi uint32) int32 {
	if g.point == nil {
		return 0
	}
	return g.point(g, export, call, lo, hi)
}

func (g *tiny) Exports() []string { return g.exports }

func (g *tiny) u32(at uint32) uint32 { return binary.LittleEndian.Uint32(g.memory[at:]) }

func (g *tiny) put32(at, v uint32) { binary.LittleEndian.PutUint32(g.memory[at:], v) }

// asked returns the rows of a call.
func (g *tiny) asked(call, lo, hi uint32) (rows []uint32) {
	if set := g.u32(call + abi.CallRows); set != 0 {
		for i := range g.u32(call + abi.CallRowCount) {
			rows = append(rows, g.u32(set+4*i))
		}
		return rows
	}
	for row := lo; row < hi; row++ {
		rows = append(rows, row)
	}
	return rows
}

// native returns a factory of tiny guests with these exports.
func native(point func(g *tiny, export string, call, lo, hi uint32) int32, exports ...string) *sandbox.NativeFactory {
	return sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin {
		return &tiny{exports: exports, env: env, point: point}
	})
}
