// Package hint exports a plugin's Hint from a module.
package hint

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's Hint as the module's function berth_hint, and returns the
// plugin.
func Export[P berth.Hinter](plugin P) P {
	guest.Set(plugin, abi.ExportHint)
	return plugin
}
