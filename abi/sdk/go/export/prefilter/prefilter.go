// Package prefilter exports a plugin's PreFilter from a module.
package prefilter

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's PreFilter as the module's function berth_pre_filter, and returns the
// plugin.
func Export[P berth.PreFilterer](plugin P) P {
	guest.Set(plugin, abi.ExportPreFilter)
	return plugin
}
