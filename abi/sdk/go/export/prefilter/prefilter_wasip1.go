//go:build wasip1

package prefilter

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_pre_filter
func serve(call uint32) int32 {
	return berth.ServePreFilter(guest.Plugin().(berth.PreFilterer), call)
}
