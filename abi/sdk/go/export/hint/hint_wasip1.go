//go:build wasip1

package hint

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_hint
func serve(call, lo, hi uint32) int32 {
	return berth.ServeHint(guest.Plugin().(berth.Hinter), call, lo, hi)
}
