package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

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
	return plain.Line(detail, fault.MaxDetail), strings.ReplaceAll(plain.Lines(trace, fault.MaxTrace), "\t", "")
}

// ofTheHost begins wazero's stack of the host, which says nothing of the guest.
const ofTheHost = "\n\nGo runtime stack trace:"

// origin names the plugin in its faults.
func (p *Plugin) origin() fault.Origin {
	return fault.Origin{Plugin: p.config.Name, Digest: p.info.Digest}
}

// fault returns a fault. Who ends a call with it counts it, at the point that was called.
func (p *Plugin) fault(point abi.Point, kind fault.Kind, detail string, env *Env) *fault.Fault {
	return p.traced(point, kind, detail, "", env)
}

// traced is fault with the functions in which the guest trapped.
func (p *Plugin) traced(point abi.Point, kind fault.Kind, detail, trace string, env *Env) *fault.Fault {
	f := fault.Fault{Origin: p.origin(), Point: point, Kind: kind, Detail: detail, Trace: trace}
	if env != nil {
		f.Output = env.log.String()
	}
	return fault.New(f)
}

// count counts the fault that a call of a point ended with; nil for none.
func (p *Plugin) count(point abi.Point, f *fault.Fault) {
	if f != nil {
		p.work[point].fault(f.Kind)
	}
}

// asFault makes a fault of an error, which is one already if a guest is to blame.
func (p *Plugin) asFault(point abi.Point, err error) *fault.Fault {
	var f *fault.Fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f.At(point)
	case errors.Is(err, mirror.ErrNoRoom):
		return p.fault(point, fault.NoMemory, fmt.Sprintf("%v after %d tries; the largest columns are %s", err, maxGrowth, p.source.Largest()), nil)
	}
	return p.fault(point, fault.Start, err.Error(), nil)
}

// failed returns the status of a fault by policy; nil when it is ignored. The call was about
// these pods.
func (p *Plugin) failed(f *fault.Fault, pods ...*state.Pod) *plugin.Status {
	level := slog.LevelError
	if f.Kind == fault.BreakerOpen || !f.FirstLog() { // the faults that opened it were told
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
	if p.policy(f.Point) == fault.Ignore {
		return nil
	}
	return plugin.Fail(f)
}
