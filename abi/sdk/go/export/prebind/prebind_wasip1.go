//go:build wasip1

package prebind

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_pre_bind
func serve(call uint32) int32 {
	return berth.ServePreBind(guest.Plugin().(berth.PreBinder), call)
}
