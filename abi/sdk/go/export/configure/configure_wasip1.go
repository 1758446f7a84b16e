//go:build wasip1

package configure

import (
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/internal/guest"
)

//go:wasmexport berth_configure
func serve(address, length uint32) int32 {
	return berth.ServeConfigure(guest.Plugin().(berth.Configurer), address, length)
}
