// Command guest is the module of package zonelimit.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/addpod"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prefilter"
	"github.com/berth-scheduler/berth/wasm-examples/zonelimit"
)

var _ = configure.Export(prefilter.Export(addpod.Export(filter.Export(zonelimit.New()))))

func main() {}
