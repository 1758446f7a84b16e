//go:build wasip1

package score

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_score
func serve(call, lo, hi uint32) int32 {
	return berth.ServeScore(guest.Plugin().(berth.Scorer), call, lo, hi)
}
