//go:build wasip1

package reserve

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_reserve
func serve(call uint32) int32 {
	return berth.ServeReserve(guest.Plugin().(berth.Reserver), call)
}
