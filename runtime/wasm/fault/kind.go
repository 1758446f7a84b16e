package fault

// Kind says what went wrong in a guest.
type Kind string

// The kinds of faults.
const (
	// Trap is a WebAssembly trap: unreachable, out of bounds, a division by zero,
	// or a call of WASI's proc_exit.
	Trap Kind = "trap"
	// OutOfFuel is a call that used all of its fuel, StackOverflow one that nested too
	// deep, and Deadline one that took too long by the clock.
	OutOfFuel     Kind = "out-of-fuel"
	StackOverflow Kind = "stack-overflow"
	Deadline      Kind = "deadline"
	// Interrupted is a call that ended because the scheduler is stopping. It says
	// nothing about the plugin.
	Interrupted Kind = "interrupted"
	// Output is an answer that breaks the ABI: an unknown code, an address out of
	// bounds, a score out of range, too much text.
	Output Kind = "bad-output"
	// Bug is a mistake of the host. Its stack is logged.
	Bug Kind = "BUG"
	// Denied is a directive that the plugin was not granted.
	Denied Kind = "denied"
	// BreakerOpen is a call that was not made, because the plugin failed too often.
	BreakerOpen Kind = "breaker-open"
	// WroteSnapshot is a write into columns, which belong to the host (ABI-2.9).
	WroteSnapshot Kind = "wrote-snapshot"
	// NoMemory is an allocator that has no room for the region.
	NoMemory Kind = "no-memory"
	// Start is an instance that could not be made. Starting is one that was not made,
	// because starts after faults have used their fuel.
	Start    Kind = "start"
	Starting Kind = "starting"
)

// OfGuest reports whether the guest failed or used up what it may. Calls that the breaker
// did not make and interrupted calls are not the guest's.
func (k Kind) OfGuest() bool { return k != BreakerOpen && k != Interrupted }
