//go:build wasip1

package filter

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_filter
func serve(call, lo, hi uint32) int32 {
	return berth.ServeFilter(guest.Plugin().(berth.Filterer), call, lo, hi)
}
