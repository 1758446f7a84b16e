package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// faults makes the faults of a plugin, and decides what they mean for a pod.
type faults struct {
	origin fault.Origin
	config *Config // CrashOnBug and the policies
	log    *slog.Logger
}

// at returns a fault, with the output of the instance; env is nil if there is none. The
// caller that ends a call with the fault counts it.
func (t *faults) at(point abi.Point, kind fault.Kind, detail string, env *sandbox.Env) *fault.Fault {
	return t.traced(point, kind, detail, "", env)
}

// traced is at with the functions in which the guest trapped.
func (t *faults) traced(point abi.Point, kind fault.Kind, detail, trace string, env *sandbox.Env) *fault.Fault {
	f := fault.Fault{Origin: t.origin, Point: point, Kind: kind, Detail: detail, Trace: trace}
	if env != nil {
		f.Output = env.Output()
	}
	return fault.New(f)
}

// of returns the fault of an error, which may be a fault already; nil for no error.
func (t *faults) of(point abi.Point, err error) *fault.Fault {
	var f *fault.Fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f.At(point)
	case errors.Is(err, mirror.ErrNoRoom):
		return t.at(point, fault.NoMemory, err.Error(), nil)
	}
	var unstarted *startError
	if errors.As(err, &unstarted) {
		return t.traced(point, fault.Start, err.Error(), unstarted.trace, nil)
	}
	return t.at(point, fault.Start, err.Error(), nil)
}

// status returns the status of a fault by policy; nil if it is ignored. pods are those that
// the call was about.
func (t *faults) status(f *fault.Fault, pods ...*state.Pod) *plugin.Status {
	level := slog.LevelError
	if f.Kind == fault.BreakerOpen || !f.FirstLog() { // the faults that opened the breaker are in the log
		level = slog.LevelDebug
	}
	attrs := []any{"plugin", f.Plugin, "point", f.Point.String(), "kind", f.Kind, "detail", f.Detail, "trace", f.Trace, "fault", f}
	if len(pods) > 0 {
		attrs = append(attrs, "pod", pods[0].Key())
	}
	if len(pods) > 1 { // which of them caused it, if any, is not known
		attrs = append(attrs, "pods", len(pods))
	}
	t.log.Log(context.Background(), level, "plugin fault", attrs...)
	if t.config.policy(f.Point) == fault.Ignore {
		return nil
	}
	return plugin.Fail(f)
}

// guard turns a panic of the host, while it serves a guest, into a fault of the plugin: the
// input of one plugin must not end the scheduler. It is deferred.
func (t *faults) guard(point abi.Point, f **fault.Fault) {
	if r := recover(); r != nil {
		*f = t.bug(point, r, debug.Stack())
	}
}

// bug returns the fault of a panic. If the configuration says so, it panics again.
func (t *faults) bug(point abi.Point, panicked any, stack []byte) *fault.Fault {
	if t.config.CrashOnBug {
		panic(panicked)
	}
	return t.traced(point, fault.Bug, fmt.Sprintf("the host failed: %v; please report this", panicked), string(stack), nil)
}
