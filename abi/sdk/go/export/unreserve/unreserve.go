// Package unreserve exports a plugin's Unreserve from a module.
package unreserve

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Unreserve as the module's function berth_unreserve, and returns the
// plugin.
func Export[P berth.Unreserver](plugin P) P {
	guest.Set(plugin, abi.ExportUnreserve)
	return plugin
}
