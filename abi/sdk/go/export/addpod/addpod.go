// Package addpod exports a plugin's AddPod and RemovePod from a module; a plugin has both or
// neither.
package addpod

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's AddPod and RemovePod as the module's functions berth_add_pod and
// berth_remove_pod, and returns the plugin.
func Export[P berth.PodAdder](plugin P) P {
	guest.Set(plugin, abi.ExportAddPod)
	guest.Set(plugin, abi.ExportRemovePod)
	return plugin
}
