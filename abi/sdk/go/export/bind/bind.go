// Package bind exports a plugin's Bind from a module.
package bind

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Bind as the module's function berth_bind, and returns the
// plugin.
func Export[P berth.Binder](plugin P) P {
	guest.Set(plugin, abi.ExportBind)
	return plugin
}
