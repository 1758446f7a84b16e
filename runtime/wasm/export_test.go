package wasm

import "github.com/tetratelabs/wazero/api"

// Global returns a mutable exported global of an instance.
func Global(g Guest, name string) api.MutableGlobal {
	return g.(*instanceGuest).module.ExportedGlobal(name).(api.MutableGlobal)
}
