// Package normalize exports a plugin's Normalize from a module.
package normalize

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Normalize as the module's function berth_normalize, and returns the
// plugin.
func Export[P berth.Normalizer](plugin P) P {
	guest.Set(plugin, abi.ExportNormalize)
	return plugin
}
