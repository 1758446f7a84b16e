// Command guest is the module of package gpushare.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/gpushare"
)

var _ = configure.Export(filter.Export(score.Export(reserve.Export(gpushare.New()))))

func main() {}
