// Package postbind exports a plugin's PostBind from a module.
package postbind

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's PostBind as the module's function berth_post_bind, and returns the
// plugin.
func Export[P berth.PostBinder](plugin P) P {
	guest.Set(plugin, abi.ExportPostBind)
	return plugin
}
