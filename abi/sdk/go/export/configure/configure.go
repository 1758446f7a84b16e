// Package configure exports a plugin's Configure from a module.
package configure

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Configure as the module's function berth_configure, and returns the
// plugin.
func Export[P berth.Configurer](plugin P) P {
	guest.Set(plugin, abi.ExportConfigure)
	return plugin
}
