// Package queuekey exports a plugin's QueueKey from a module.
package queuekey

import (
	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

// Export exports the plugin's QueueKey as the module's function berth_queue_key, and returns the
// plugin.
func Export[P berth.QueueKeyer](plugin P) P {
	guest.Set(plugin, abi.ExportQueueKey)
	return plugin
}
