// Package guest holds the one plugin of a module, and the exports that every
// module has: berth_abi and berth_alloc. Packages below export use it.
package guest

import berth "github.com/berth-scheduler/berth/abi/sdk/go"

// Set makes p the module's plugin and notes that one of its functions is
// exported. It does nothing where there is no module.
func Set(p berth.Plugin, export string) { set(p, export) }
