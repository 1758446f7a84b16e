// Package wat assembles WebAssembly modules from the text format, so that broken
// and hostile guests of tests are sources that can be read. It knows what such
// guests need: the MVP with folded and flat instructions, inline imports and
// exports, bulk memory, sign extension, saturating conversion, reference types,
// some SIMD, and (@custom "name" "bytes"). It validates nothing but names and
// numbers, since tests want modules that do not validate. Only tests import it.
package wat

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// manifestSection is abi.ManifestSection; this package imports nothing of ours.
const manifestSection = "berth.manifest"

// Compile assembles source, or the file of that name if it ends in .wat, and
// appends manifest as the custom section berth.manifest unless it is empty. It
// fails t on a mistake.
func Compile(t testing.TB, source, manifest string) []byte {
	t.Helper()
	where := "wat source"
	if filepath.Ext(source) == ".wat" {
		where = source
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		source = string(text)
	}
	out, err := Assemble(source)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if manifest != "" {
		out = section(out, 0, append(text([]byte(manifestSection)), manifest...))
	}
	return out
}

// Assemble turns the text of one module, (module …), into its binary form.
func Assemble(source string) (out []byte, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *mistake:
			err = r
		case runtime.Error: // a list with too few elements
			err = fmt.Errorf("a field or instruction is not well formed: %w", r)
		default:
			panic(r)
		}
	}()
	l := &lexer{source: source, line: 1}
	root := l.expr()
	if !root.is("module") {
		fail(root, "expected (module …)")
	}
	if l.space(); l.pos < len(source) {
		panic(&mistake{l.line, "text after the module"})
	}
	return newModule(root).encode(), nil
}

// mistake is thrown with panic inside the package.
type mistake struct {
	line int
	text string
}

func (m *mistake) Error() string { return fmt.Sprintf("line %d: %s", m.line, m.text) }

func fail(at *expr, format string, args ...any) {
	panic(&mistake{at.line, fmt.Sprintf(format, args...)})
}

// section appends a section.
func section(out []byte, id byte, payload []byte) []byte {
	return append(uleb(append(out, id), uint64(len(payload))), payload...)
}

// text encodes a name or bytes with their length before them.
func text(s []byte) []byte { return append(uleb(nil, uint64(len(s))), s...) }

func uleb(out []byte, v uint64) []byte { return binary.AppendUvarint(out, v) }

func sleb(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
