//go:build wasip1

package permit

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_permit
func serve(call uint32) int32 {
	return berth.ServePermit(guest.Plugin().(berth.Permitter), call)
}
