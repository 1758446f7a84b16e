package assembly

import (
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// overruns returns what tells the recorder, if there is one, of the calls of a plugin that their deadline ended, and
// what ends the same ones in a replay.
func (a *Assembly) overruns(profile, plugin string) (ended func(*wasm.Overrun), recorded func(*wasm.Overrun) bool) {
	event := func(o *wasm.Overrun) *inbox.Overrun {
		return &inbox.Overrun{
			Profile: profile, Plugin: plugin, Point: o.Point.String(), Row: uint64(o.Row), Pod: o.Pod,
			Fuel: uint64(o.Fuel), Detail: o.Detail, Output: o.Output, Trace: o.Trace,
		}
	}
	if a.deps.Recorder != nil {
		ended = func(o *wasm.Overrun) { a.deps.Recorder.Enter(event(o)) }
	}
	if a.deps.Overrun != nil {
		recorded = func(o *wasm.Overrun) bool {
			e := event(o)
			if !a.deps.Overrun(e) {
				return false
			}
			o.Fuel, o.Detail, o.Output, o.Trace = int64(e.Fuel), e.Detail, e.Output, e.Trace
			return true
		}
	}
	return ended, recorded
}
