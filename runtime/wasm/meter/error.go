package meter

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Error says why a module is refused: it is malformed, exceeds a limit, uses a reserved name,
// or has something that the rewriter does not know.
type Error struct {
	// Offset is the position in the module, in bytes.
	Offset int
	// Where is the part of the module, like "function 12" (by its index in the original
	// module) or "element section"; empty outside of one.
	Where string
	// Detail says what is wrong, Fix (may be empty) what to do.
	Detail, Fix string
}

// Error gives "offset 0x1f, function 12: detail; fix".
func (e *Error) Error() string {
	out := fmt.Sprintf("offset %#x", e.Offset)
	if e.Where != "" {
		out += ", " + e.Where
	}
	out += ": " + e.Detail
	if e.Fix != "" {
		out += "; " + e.Fix
	}
	return out
}

// fromWire converts an error of wire.ReadModule.
func fromWire(e *wire.ModuleError) *Error {
	out := &Error{Offset: e.Offset, Detail: e.Detail, Fix: e.Fix}
	if e.Section != "" {
		out.Where = e.Section + " section"
	}
	return out
}

// caught recovers an *Error that the package threw with panic, and returns it. Any other panic
// is a bug and continues.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}
