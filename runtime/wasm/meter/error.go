package meter

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Error is why a module is refused: it is malformed, exceeds a limit, uses a
// reserved name, or has or does what the rewriter does not know.
type Error struct {
	// Offset is where in the module, in bytes.
	Offset int
	// Where is the part of the module, as "function 12" (by its index in the module
	// that was given) or "element section"; empty outside of one.
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

// fromWire turns the error of wire.ReadModule into one of ours.
func fromWire(e *wire.ModuleError) *Error {
	out := &Error{Offset: e.Offset, Detail: e.Detail, Fix: e.Fix}
	if e.Section != "" {
		out.Where = e.Section + " section"
	}
	return out
}

// caught turns an *Error that was thrown with panic inside of the package into a
// returned one; every other panic is a bug and goes on.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}
