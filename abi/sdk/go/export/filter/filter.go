// Package filter exports a plugin's Filter from a module.
package filter

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Filter as the module's function berth_filter, and returns the
// plugin.
func Export[P berth.Filterer](plugin P) P {
	guest.Set(plugin, abi.ExportFilter)
	return plugin
}
