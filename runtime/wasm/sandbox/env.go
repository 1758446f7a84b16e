package sandbox

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// HostFunctions are the functions of ABI section 7. What they return is copied.
type HostFunctions interface {
	Log(level int, text string)
	StateGet(key string) ([]byte, bool)
	StateSet(key string, value []byte) bool
	PublishedGet(index uint32) ([]byte, bool)
	PodObject(index uint32) ([]byte, bool)
	NodeObject(row uint32) ([]byte, bool)
}

// Env is what one instance runs with: its limits and its memory, the host functions that it
// calls, what the call that runs may use, and the end of its output.
type Env struct {
	HostFunctions
	allowance
	next     int64          // fuel of the next call
	starting int64          // fuel that is left to start with
	alloc    int64          // fuel to allocate the region
	memory   *memory.Linear // nil for one without a budget
	linear   *memory.Linear // as memory, or that of the instance
	short    bool           // the last call ended for want of memory
	frames   uint32         // that the call that runs has
	clock    int64          // when its clock begins, in seconds since 1970; 0 for wazero's default
	output   tail
	panicked *hostPanic // by a host function, in the call that ran last
	// native and deep are what the instance takes beside its memory, and more of it a call
	// with all of its frames, in bytes.
	native, deep uint64
}

var _ HostFunctions = (*Env)(nil)

// EnvConfig is what an Env is made of.
type EnvConfig struct {
	Limits Limits
	// StartFuel is the fuel of making the instance, start section, _initialize and
	// configuration together, and AllocFuel that of allocating its region.
	StartFuel, AllocFuel int64
	// Memory (optional) is the instance's memory; nil for one without a budget.
	Memory *memory.Linear
	Host   HostFunctions
}

// NewEnv returns the Env of one instance.
func NewEnv(c EnvConfig) *Env {
	return &Env{HostFunctions: c.Host, allowance: allowance{limits: c.Limits}, starting: c.StartFuel, alloc: c.AllocFuel, memory: c.Memory}
}

// Log passes on a text of the guest and keeps it in the output. A text that is too long is
// cut.
func (e *Env) Log(level int, text string) {
	text = plain.CutWith(text, abi.MaxLogText, "")
	e.output.line(text)
	e.HostFunctions.Log(level, text)
}

// Begin prepares a call with so much fuel. The output of earlier calls is forgotten, since
// it may be about other pods.
func (e *Env) Begin(fuel int64) {
	e.output.data, e.next = e.output.data[:0], fuel
}

// Used returns the fuel that the last call used.
func (e *Env) Used() int64 { return e.used }

// StartFuelLeft returns the fuel that is left to start with.
func (e *Env) StartFuelLeft() int64 { return e.starting }

// Native returns what the instance takes beside its memory at most, and what one call with all
// of its frames takes besides, in bytes.
func (e *Env) Native() (instance, deep uint64) { return e.native, e.deep }

// Memory returns the instance's memory; nil for one without a budget.
func (e *Env) Memory() *memory.Linear { return e.memory }

// Output returns the end of what the guest logged and wrote to its standard streams.
func (e *Env) Output() string {
	text := e.output.String()
	if e.short {
		return withoutDump(text)
	}
	return text
}

// withoutDump returns an output without the dump of a Go guest that got no memory: it is of the function that happened to ask.
func withoutDump(text string) string {
	const why = "fatal error: out of memory"
	if before, _, ok := strings.Cut(text, why); ok {
		return before + why
	}
	if fault.Dumped(text) { // whose beginning is lost
		return ""
	}
	return text
}

// Panic returns what a host function panicked with during the last call, and its stack. That
// is a mistake of the host, not a trap of the guest.
func (e *Env) Panic() (value any, stack []byte, ok bool) {
	if e.panicked == nil {
		return nil, nil, false
	}
	return e.panicked.value, e.panicked.stack, true
}

// hostPanic is a panic of a host function, kept until the guest's call has returned: wazero
// makes an error of it that looks like a trap.
type hostPanic struct {
	value any
	stack []byte
}
