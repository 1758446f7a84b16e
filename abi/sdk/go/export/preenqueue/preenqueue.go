// Package preenqueue exports a plugin's PreEnqueue from a module.
package preenqueue

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's PreEnqueue as the module's function berth_pre_enqueue, and returns the
// plugin.
func Export[P berth.PreEnqueuer](plugin P) P {
	guest.Set(plugin, abi.ExportPreEnqueue)
	return plugin
}
