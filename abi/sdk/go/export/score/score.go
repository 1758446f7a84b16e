// Package score exports a plugin's Score from a module.
package score

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export makes the plugin's Score the module's function berth_score, and returns the
// plugin.
func Export[P berth.Scorer](plugin P) P {
	guest.Set(plugin, abi.ExportScore)
	return plugin
}
