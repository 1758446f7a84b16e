// Package permit exports a plugin's Permit from a module.
package permit

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Permit as the module's function berth_permit, and returns the
// plugin.
func Export[P berth.Permitter](plugin P) P {
	guest.Set(plugin, abi.ExportPermit)
	return plugin
}
