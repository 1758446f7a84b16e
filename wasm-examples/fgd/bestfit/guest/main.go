// Command guest is the module of package bestfit.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/bestfit"
)

var _ = filter.Export(score.Export(reserve.Export(bestfit.New())))

func main() {}
