//go:build wasip1

package prescore

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_pre_score
func serve(call, lo, hi uint32) int32 {
	return berth.ServePreScore(guest.Plugin().(berth.PreScorer), call, lo, hi)
}
