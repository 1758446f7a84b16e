package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// Kind is what went wrong in a guest.
type Kind string

// The kinds of faults.
const (
	// Trap is a WebAssembly trap: unreachable, out of bounds, a division by zero,
	// or a call of wasi's proc_exit.
	Trap Kind = "trap"
	// OutOfFuel is a call that used all of its fuel, StackOverflow one that nested too
	// deep, and Deadline one that took too long by the clock.
	OutOfFuel     Kind = "out-of-fuel"
	StackOverflow Kind = "stack-overflow"
	Deadline      Kind = "deadline"
	// Interrupted is a call that ended because the scheduler is to stop. It says
	// nothing of the plugin.
	Interrupted Kind = "interrupted"
	// Output is an answer that breaks the ABI: an unknown code, an address out of
	// bounds, a score out of range, too much text.
	Output Kind = "bad-output"
	// Bug is a mistake of the host, which is logged with its place.
	Bug Kind = "BUG"
	// Denied is a directive that the plugin was not granted.
	Denied Kind = "denied"
	// BreakerOpen is a call that was not made, since the plugin failed too often.
	BreakerOpen Kind = "breaker-open"
	// WroteSnapshot is a write into columns, which are the host's (ABI-2.9).
	WroteSnapshot Kind = "wrote-snapshot"
	// NoMemory is an allocator that has no room for the region.
	NoMemory Kind = "no-memory"
	// Start is an instance that could not be made, and Starting one that was not made
	// since starts after faults have used their fuel.
	Start    Kind = "start"
	Starting Kind = "starting"
)

// ofGuest reports whether the guest failed, or used what it may: not a call that the
// breaker did not make, or that was interrupted.
func (k Kind) ofGuest() bool { return k != BreakerOpen && k != Interrupted }

// Fault is a failure of a guest, as opposed to its "no", which is a status. Its texts are printable, and cut: Detail to
// 1 KiB, Output to the last 4 KiB, Trace to 8 KiB.
type Fault struct {
	Plugin string
	Digest string
	Point  abi.Point
	Kind   Kind
	// Detail says what happened in one line, Output is the last that the guest
	// logged, and Trace the functions of the guest in which it trapped, one a line,
	// the innermost first.
	Detail string
	Output string
	Trace  string
	// told tells that it is in the log. A fault that keeps a cycle from being prepared is that of each of its calls.
	told *atomic.Bool
}

// The texts of a fault at most, in bytes. Of the output a message quotes maxQuoted.
const (
	maxDetail = 1 << 10
	maxOutput = tailSize
	maxTrace  = 8 << 10
	maxQuoted = 256
)

// newFault returns a fault with its texts cut.
func newFault(f Fault) *Fault {
	f.Detail, f.Output, f.Trace = plain.Line(f.Detail, maxDetail), plain.Tail(f.Output, maxOutput), plain.Lines(f.Trace, maxTrace)
	f.told = new(atomic.Bool)
	return &f
}

// Error says who failed where and how.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fault of plugin %s at %s: %s: %s", f.Plugin, f.Point, f.Kind, f.Detail)
	if f.Digest != "" {
		fmt.Fprintf(&b, " (module %s)", shortDigest(f.Digest))
	}
	if f.Output != "" {
		fmt.Fprintf(&b, "; the guest's last output: %q", lastWords(f.Output))
	}
	return b.String()
}

// lastWords cuts a Go guest's stack dump off its output, and what is too long at
// the front: what was said last is worth most.
func lastWords(output string) string {
	output, _, _ = strings.Cut(output, "\n\ngoroutine ")
	return plain.Tail(output, maxQuoted)
}

// trapText splits what wazero says of a trap: what happened in one line, and the
// functions of the guest in which it did.
func trapText(err error) (detail, trace string) {
	var m *metered
	if errors.As(err, &m) {
		_, trace = trapText(m.trap)
		return err.Error(), trace
	}
	detail, trace, _ = strings.Cut(err.Error(), "\nwasm stack trace:\n")
	trace, _, _ = strings.Cut(trace, ofTheHost)
	detail = strings.ReplaceAll(strings.TrimSuffix(detail, " (recovered by wazero)"), "wasm error: ", "")
	return plain.Line(detail, maxDetail), strings.ReplaceAll(plain.Lines(trace, maxTrace), "\t", "")
}

// ofTheHost begins wazero's stack of the host, which says nothing of the guest.
const ofTheHost = "\n\nGo runtime stack trace:"

// shortDigest is enough of a digest to recognise it.
func shortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// Policy is what a fault of a plugin means for the pod.
type Policy uint8

// The policies.
const (
	// Fail fails the attempt; the pod goes to the error backoff.
	Fail Policy = iota
	// Ignore goes on as if the plugin had no opinion.
	Ignore
)

// DefaultPolicy returns the policy of a point that is not configured: what
// decides whether a pod may run fails, what rates nodes is ignored.
func DefaultPolicy(point abi.Point) Policy {
	switch point {
	case abi.PreScore, abi.Score, abi.Normalize, abi.Unreserve, abi.PostBind:
		return Ignore
	}
	return Fail
}

// fault returns a fault. Who ends a call with it counts it, at the point that was called.
func (p *Plugin) fault(point abi.Point, kind Kind, detail string, env *Env) *Fault {
	return p.traced(point, kind, detail, "", env)
}

// traced is fault with the functions in which the guest trapped.
func (p *Plugin) traced(point abi.Point, kind Kind, detail, trace string, env *Env) *Fault {
	f := Fault{Plugin: p.config.Name, Digest: p.info.Digest, Point: point, Kind: kind, Detail: detail, Trace: trace}
	if env != nil {
		f.Output = env.log.String()
	}
	return newFault(f)
}

// count counts the fault that a call of a point ended with; nil for none.
func (p *Plugin) count(point abi.Point, f *Fault) {
	if f != nil {
		p.work[point].fault(f.Kind)
	}
}

// asFault makes a fault of an error, which is one already if a guest is to blame.
func (p *Plugin) asFault(point abi.Point, err error) *Fault {
	var f *Fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		atPoint := *f
		atPoint.Point = point
		return &atPoint
	case errors.Is(err, mirror.ErrNoRoom):
		return p.fault(point, NoMemory, fmt.Sprintf("%v after %d tries; the largest columns are %s", err, maxGrowth, p.source.Largest()), nil)
	}
	return p.fault(point, Start, err.Error(), nil)
}

// failed returns the status of a fault by policy; nil when it is ignored. The call was about
// these pods.
func (p *Plugin) failed(f *Fault, pods ...*state.Pod) *plugin.Status {
	level := slog.LevelError
	if f.Kind == BreakerOpen || f.told.Swap(true) { // the faults that opened it were told
		level = slog.LevelDebug
	}
	attrs := []any{"plugin", f.Plugin, "point", f.Point.String(), "kind", f.Kind, "detail", f.Detail, "trace", f.Trace, "fault", f}
	if len(pods) > 0 {
		attrs = append(attrs, "pod", pods[0].Key())
	}
	if len(pods) > 1 { // one of them, which is not known, or the plugin anyway
		attrs = append(attrs, "pods", len(pods))
	}
	p.deps.Log.Log(context.Background(), level, "plugin fault", attrs...)
	if p.policy(f.Point) == Ignore {
		return nil
	}
	return plugin.Fail(f)
}

// AsFault returns the fault in an error chain, if there is one.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}
