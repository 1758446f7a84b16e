//go:build wasip1

package bind

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_bind
func serve(call uint32) int32 {
	return berth.ServeBind(guest.Plugin().(berth.Binder), call)
}
