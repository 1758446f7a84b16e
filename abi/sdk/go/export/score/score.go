// Package score exports a plugin's Score from a module.
package score

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Score as the module's function berth_score, and returns the
// plugin.
func Export[P berth.Scorer](plugin P) P {
	guest.Set(plugin, abi.ExportScore)
	return plugin
}
