// Command guest is the module of package tenantpool.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/tenantpool"
)

var _ = configure.Export(filter.Export(score.Export(tenantpool.New())))

func main() {}
