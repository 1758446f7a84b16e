//go:build wasip1

package unreserve

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_unreserve
func serve(call uint32) int32 {
	return berth.ServeUnreserve(guest.Plugin().(berth.Unreserver), call)
}
