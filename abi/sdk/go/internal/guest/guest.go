// Package guest has the plugin of a module, and the exports of every module: berth_abi and
// berth_alloc. Packages below export use it.
package guest

import berth "github.com/berth-scheduler/berth/abi/sdk/go"

// Set makes p the module's plugin and records that one of its functions is exported. Outside
// modules it does nothing.
func Set(p berth.Plugin, export string) { set(p, export) }
