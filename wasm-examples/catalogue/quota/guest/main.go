// Command guest is the module of package quota.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prefilter"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/quota"
)

var _ = configure.Export(prefilter.Export(quota.New()))

func main() {}
