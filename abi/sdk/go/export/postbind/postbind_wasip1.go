//go:build wasip1

package postbind

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_post_bind
func serve(call uint32) int32 {
	return berth.ServePostBind(guest.Plugin().(berth.PostBinder), call)
}
