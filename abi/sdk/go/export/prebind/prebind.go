// Package prebind exports a plugin's PreBind from a module.
package prebind

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's PreBind as the module's function berth_pre_bind, and returns the
// plugin.
func Export[P berth.PreBinder](plugin P) P {
	guest.Set(plugin, abi.ExportPreBind)
	return plugin
}
