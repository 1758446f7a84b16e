// Package prescore exports a plugin's PreScore from a module.
package prescore

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's PreScore as the module's function berth_pre_score, and returns the
// plugin.
func Export[P berth.PreScorer](plugin P) P {
	guest.Set(plugin, abi.ExportPreScore)
	return plugin
}
