package wasm

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// scalingOf returns the scaling that a manifest declares.
func scalingOf(how string) plugin.Scaling {
	switch how {
	case wire.NormalizeMax:
		return plugin.ToMax
	case wire.NormalizeReverse:
		return plugin.Reversed
	case wire.NormalizeMinMax:
		return plugin.Spread
	}
	return plugin.Unscaled
}

// Scaling implements plugin.Scaler: the guest itself may normalise.
func (p *Plugin) Scaling() (plugin.Scaling, bool) { return p.scaling, !p.declared[abi.Normalize] }
