package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestRestStructureMemory: a module that has as much of a kind as the limits allow is read from a warm cache with at most
// 64 MiB of allocations, the module's own bytes besides.
func TestRestStructureMemory(t *testing.T) {
	l := meter.DefaultLimits()
	many := func(n int, b ...byte) [][]byte {
		out := make([][]byte, n)
		for i := range out {
			out[i] = b
		}
		return out
	}
	types := func(n, values int) (out []sig) {
		for i := range n {
			s := sig{params: bytes.Repeat([]byte{tI32}, values)}
			for at := range min(values, 6) { // so that most differ
				s.params[at] = []byte{tI32, tI64, tF32, tF64, tV128}[i%5]
				i /= 5
			}
			out = append(out, s)
		}
		return out
	}
	exports := map[string]int{}
	for i := range l.Exports {
		exports[fmt.Sprint("export ", i)] = 0
	}
	modules := map[string]*mod{
		"many types":            {types: types(l.Types, l.AllValues/l.Types)},
		"large types":           {types: types(l.AllValues/l.Values, l.Values)},
		"imports":               {imports: l.Imports},
		"exports":               {funcs: []fn{{}}, exports: exports},
		"functions":             {funcs: make([]fn, l.Functions)},
		"globals":               {globals: bytes.Repeat([]byte{tI64}, l.Globals)},
		"element segments":      {tables: []table{{tFuncref, 1, 1}}, elems: many(l.Elements, 1, 0, 0)},
		"elements":              {funcs: []fn{{}}, tables: []table{{tFuncref, 1, 1}}, elems: [][]byte{append([]byte{1, 0}, vec(many(l.References, 0)...)...)}},
		"data segments":         {memory: &[2]int{1, 1}, data: many(l.Datas, 1, 0)},
		"bytes of data":         {memory: &[2]int{1, 1}, data: [][]byte{append([]byte{1}, bytesVec(make([]byte, 30<<20))...)}},
		"bytes of other things": {customs: map[string][]byte{"other": make([]byte, l.Customs-100)}},
	}
	// Without globals, of which compilers declare each in every function.
	modules["all of them but bytes"] = &mod{
		types: modules["large types"].types, imports: l.Imports, funcs: make([]fn, l.Functions), exports: exports,
		memory: &[2]int{1, 1}, tables: modules["elements"].tables,
		elems: append(many(l.Elements-1, 1, 0, 0), modules["elements"].elems...), data: modules["data segments"].data,
	}
	delete(exports, "export 0") // for the memory
	ctx := context.Background()
	for _, name := range sortedKeys(modules) {
		t.Run(name, func(t *testing.T) {
			module := modules[name].bytes()
			rewritten, _, err := meter.Rewrite(module, meter.Config{})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var took, kept uint64
			for range 2 { // the first fills the cache
				cache, err := wazero.NewCompilationCacheWithDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				h := newCachedHost(t, compiler, cache)
				var before, after, live runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				compiled, err := h.runtime.CompileModule(ctx, rewritten)
				runtime.ReadMemStats(&after)
				if err != nil {
					t.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&live)
				took, kept = after.TotalAlloc-before.TotalAlloc, max(live.HeapAlloc, before.HeapAlloc)-before.HeapAlloc
				runtime.KeepAlive(compiled)
				if err := h.runtime.Close(ctx); err != nil {
					t.Fatal(err)
				}
				if err := cache.Close(ctx); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("module of %d KiB: %d KiB allocated, %d KiB kept", len(module)>>10, took>>10, kept>>10)
			const most = 64 << 20
			if took > most+uint64(len(rewritten)) {
				t.Errorf("%d MiB allocated for a module of %d KiB, want at most 64", took>>20, len(module)>>10)
			}
		})
	}
}
