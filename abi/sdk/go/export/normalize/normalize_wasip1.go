//go:build wasip1

package normalize

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_normalize
func serve(call, lo, hi uint32) int32 {
	return berth.ServeNormalize(guest.Plugin().(berth.Normalizer), call, lo, hi)
}
