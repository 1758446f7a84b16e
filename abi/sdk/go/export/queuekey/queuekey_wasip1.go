//go:build wasip1

package queuekey

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_queue_key
func serve(call, lo, hi uint32) int32 {
	return berth.ServeQueueKey(guest.Plugin().(berth.QueueKeyer), call, lo, hi)
}
