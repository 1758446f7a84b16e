//go:build wasip1

package preenqueue

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_pre_enqueue
func serve(call, lo, hi uint32) int32 {
	return berth.ServePreEnqueue(guest.Plugin().(berth.PreEnqueuer), call, lo, hi)
}
