//go:build wasip1

package guest

import (
	"slices"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// module is global because exported functions have no receiver.
var module struct {
	plugin  berth.Plugin
	exports []string
	regions [][]byte
}

func set(p berth.Plugin, export string) {
	if module.plugin != nil && module.plugin != p {
		panic("berth: a module has one plugin; export all functions of the same value")
	}
	module.plugin = p
	module.exports = append(module.exports, export)
}

// Plugin returns the module's plugin.
func Plugin() berth.Plugin {
	if module.plugin == nil {
		panic("berth: package main imports an export package, but does not call its Export")
	}
	return module.plugin
}

//go:wasmexport berth_abi
func version() uint32 {
	for _, name := range berth.Implements(Plugin()) {
		if name != abi.ExportABI && name != abi.ExportAlloc && !slices.Contains(module.exports, name) {
			panic("berth: the plugin has the method of " + name + ", but package main does not export it: " + remedy(name))
		}
	}
	return abi.Version
}

func remedy(name string) string {
	return "call Export of package abi/sdk/go/export/" + map[string]string{
		abi.ExportConfigure: "configure", abi.ExportPreEnqueue: "preenqueue", abi.ExportQueueKey: "queuekey", abi.ExportHint: "hint",
		abi.ExportPreFilter: "prefilter", abi.ExportAddPod: "addpod", abi.ExportRemovePod: "addpod",
		abi.ExportFilter: "filter", abi.ExportPostFilter: "postfilter",
		abi.ExportPreScore: "prescore", abi.ExportScore: "score", abi.ExportNormalize: "normalize",
		abi.ExportReserve: "reserve", abi.ExportUnreserve: "unreserve", abi.ExportPermit: "permit",
		abi.ExportPreBind: "prebind", abi.ExportBind: "bind", abi.ExportPostBind: "postbind",
	}[name]
}

//go:wasmexport berth_alloc
func alloc(size, align uint32) uint32 {
	align = max(align, 1)
	// The garbage collector does not scan a slice of bytes.
	region := make([]byte, uint64(size)+uint64(align))
	module.regions = append(module.regions, region)
	at := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(region))))
	return (at + align - 1) &^ (align - 1)
}
