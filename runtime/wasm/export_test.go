package wasm

import (
	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// Global returns a mutable exported global of an instance.
func Global(g Guest, name string) api.MutableGlobal {
	return g.(*instanceGuest).module.ExportedGlobal(name).(api.MutableGlobal)
}

// Prices returns what host functions cost.
func Prices() []meter.Price { return prices() }
