package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TrapOf says what an error of a Guest means: the kind of fault, what happened in one line,
// and the functions of the guest in which it happened, one a line.
func TrapOf(err error) (kind fault.Kind, detail, trace string) {
	var m *metered
	if errors.As(err, &m) {
		_, _, trace = TrapOf(m.trap)
		return m.kind(), err.Error(), trace
	}
	var short *outOfMemory
	if errors.As(err, &short) {
		_, _, trace = TrapOf(short.trap)
		return fault.Trap, short.Error(), trace
	}
	added := 0
	var r *rewritten
	if errors.As(err, &r) {
		added = r.added
	}
	detail, trace, _ = strings.Cut(err.Error(), "\nwasm stack trace:\n")
	trace, _, _ = strings.Cut(trace, hostTrace)
	detail = strings.ReplaceAll(strings.TrimSuffix(detail, " (recovered by wazero)"), "wasm error: ", "")
	return fault.Trap, plain.Line(detail, fault.MaxDetail), plain.Lines(frames(plain.Lines(trace, fault.MaxTrace), added), fault.MaxTrace)
}

// outOfMemory is a trap in a call in which the guest asked for more memory than an instance may have.
type outOfMemory struct {
	asked uint64 // in bytes, the whole memory
	limit uint32 // in bytes, without the region
	trap  error
}

// Error says which limit was reached.
func (o *outOfMemory) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("the guest asked for %d MiB of memory; limits.memory gives an instance %d MiB besides what the host writes",
		(o.asked+mib-1)/mib, o.limit/mib)
}

// Unwrap returns the trap.
func (o *outOfMemory) Unwrap() error { return o.trap }

// rewritten is a trap in rewritten code, before whose functions so many were added.
type rewritten struct {
	error
	added int
}

// Unwrap returns the trap.
func (r *rewritten) Unwrap() error { return r.error }

// hostTrace begins wazero's stack of the host, which says nothing about the guest.
const hostTrace = "\n\nGo runtime stack trace:"

// metered is a trap of the code that the rewriter put in.
type metered struct {
	status meter.Status
	limits *Limits
	grant  int64
	cause  error // of Stopped; nil for the deadline
	trap   error
}

// Error says which limit was reached.
func (m *metered) Error() string {
	switch m.status {
	case meter.OutOfFuel:
		return fmt.Sprintf("the call used its fuel of %d units", m.grant)
	case meter.TooDeep:
		return fmt.Sprintf("more than %d frames of functions", m.limits.Depth)
	case meter.Stopped:
		if m.cause != nil {
			return "the call was interrupted: " + m.cause.Error()
		}
		return fmt.Sprintf("the call took longer than %v", m.limits.CallDeadline(m.grant))
	}
	return m.trap.Error()
}

// Unwrap returns the trap.
func (m *metered) Unwrap() error { return m.trap }

func (m *metered) kind() fault.Kind {
	switch m.status {
	case meter.OutOfFuel:
		return fault.OutOfFuel
	case meter.TooDeep:
		return fault.StackOverflow
	case meter.Stopped:
		if m.cause != nil {
			return fault.Interrupted
		}
		return fault.Deadline
	}
	return fault.Trap
}

// trapped returns the error of a call with a text for the plugin's author: what happened, what
// the guest wrote last, and the functions in which it trapped.
func trapped(err error, env *Env) error {
	if err == nil {
		return nil
	}
	_, detail, trace := TrapOf(err)
	return &trapError{text: fault.New(fault.Fault{Detail: detail, Output: env.Output(), Trace: trace}).Story(), err: err}
}

// trapError is an error with another text.
type trapError struct {
	text string
	err  error
}

func (e *trapError) Error() string { return e.text }

func (e *trapError) Unwrap() error { return e.err }
