//go:build wasip1

package postfilter

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_post_filter
func serve(call, lo, hi uint32) int32 {
	return berth.ServePostFilter(guest.Plugin().(berth.PostFilterer), call, lo, hi)
}
