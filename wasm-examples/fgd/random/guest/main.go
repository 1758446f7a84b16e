// Command guest is the module of package random.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/normalize"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/random"
)

var _ = filter.Export(score.Export(normalize.Export(reserve.Export(random.New()))))

func main() {}
