// Package reserve exports a plugin's Reserve from a module.
package reserve

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Reserve as the module's function berth_reserve, and returns the
// plugin.
func Export[P berth.Reserver](plugin P) P {
	guest.Set(plugin, abi.ExportReserve)
	return plugin
}
