// Package postfilter exports a plugin's PostFilter from a module.
package postfilter

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's PostFilter as the module's function berth_post_filter, and returns the
// plugin.
func Export[P berth.PostFilterer](plugin P) P {
	guest.Set(plugin, abi.ExportPostFilter)
	return plugin
}
