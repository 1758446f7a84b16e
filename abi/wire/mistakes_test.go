package wire_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestManyMistakes: however many mistakes a module has and however long its signatures are, a
// check allocates little more than the names, and says how many mistakes there are.
func TestManyMistakes(t *testing.T) {
	const n = 10_000
	man, err := wire.DecodeManifest([]byte(`{"name": "x", "version": "1.0.0", "abi": "1.0", "points": {"filter": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	imports := func(module, name string) *wire.Module {
		wide := slices.Repeat([]wire.ValType{wire.ValExternref}, 1000)
		m := &wire.Module{Types: []wire.FuncType{{Params: wide, Results: wide}}}
		for range n {
			m.Imports = append(m.Imports, wire.Import{Module: module, Name: name})
		}
		return m
	}
	exports := &wire.Module{}
	for i := range n {
		exports.Exports = append(exports.Exports, wire.Export{Name: fmt.Sprint("berth_fliter", i), Kind: wire.KindMemory})
	}
	for name, m := range map[string]*wire.Module{
		"signatures": imports("wasi_snapshot_preview1", "fd_close"), "functions": imports("wasi_snapshot_preview1", "fd_clsoe"),
		"modules": imports("env", "fd_close"), "exports": exports,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := wire.Check(m, man, "")
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
				t.Errorf("%d bytes allocated", got)
			}
			lines := strings.Split(err.Error(), "\n")
			if last := lines[len(lines)-1]; len(lines) != 33 || !strings.HasPrefix(last, "and 99") || len(err.Error()) > 32<<10 {
				t.Errorf("%d lines, the last %s", len(lines), last)
			}
		})
	}
}

// TestLongSignature: the text of a signature names the first values.
func TestLongSignature(t *testing.T) {
	wide := wire.FuncType{Params: slices.Repeat([]wire.ValType{wire.ValI64}, 17), Results: []wire.ValType{wire.ValI32}}
	if got, want := wide.String(), "("+strings.Repeat("i64, ", 15)+"i64 and 1 more) → i32"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (wire.FuncType{Params: wide.Params[:16]}).String(), "("+strings.Repeat("i64, ", 15)+"i64) → ()"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
