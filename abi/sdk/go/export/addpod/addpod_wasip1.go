//go:build wasip1

package addpod

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_add_pod
func add(call, lo, hi uint32) int32 {
	return berth.ServeAddPod(guest.Plugin().(berth.PodAdder), call, lo, hi)
}

//go:wasmexport berth_remove_pod
func remove(call, lo, hi uint32) int32 {
	return berth.ServeRemovePod(guest.Plugin().(berth.PodAdder), call, lo, hi)
}
