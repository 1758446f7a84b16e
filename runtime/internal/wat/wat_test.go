package wat_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
)

// TestAll: the bytes of a module with one of nearly everything. They ran as
// expected in wazero when the file was written.
func TestAll(t *testing.T) {
	out := wat.Compile(t, "testdata/all.wat", "{}")
	golden.Check(t, "testdata/all.golden", []byte(hex.Dump(out)))
}

func TestMinimal(t *testing.T) {
	out := wat.Compile(t, `(module (func $f (export "f") (result i32) (i32.const -1)))`, "")
	want := "0061736d01000000" + "0105016000017f" + "03020100" + "07050101660000" + "0a06010400417f0b"
	if got := hex.EncodeToString(out); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	cases := []struct{ source, want string }{
		{`(func)`, "line 1: expected (module …)"},
		{"(module\n(func", "line 2: a list does not end"},
		{`(module) (module)`, "line 1: text after the module"},
		{`(module (func (local.get $x)))`, "line 1: $x is not defined"},
		{`(module (func $f) (func $f))`, "line 1: $f appears twice"},
		{`(module (func (i32.foo)))`, "line 1: unknown instruction i32.foo"},
		{`(module (func (br $l)))`, "line 1: label $l is not defined"},
		{`(module (func (i32.const 5_000_000_000)))`, "line 1: expected a number of 32 bits, found 5_000_000_000"},
		{`(module (func (local.get 0 1)))`, "line 1: unknown instruction 1"},
		{`(module (memory))`, "line 1: expected a minimum and perhaps a maximum"},
		{`(module (tag $e))`, "line 1: unknown field (tag …)"},
		{`(module (data (i32.const 0) "\zz"))`, "line 1: a wrong escape"},
		{`(module (export "a"))`, "a field or instruction is not well formed: "},
	}
	for _, c := range cases {
		_, err := wat.Assemble(c.source)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.source, err, c.want)
		}
	}
}
