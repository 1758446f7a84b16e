// Command guest is the module of package fgd.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/fgd"
)

var _ = configure.Export(filter.Export(score.Export(reserve.Export(fgd.New()))))

func main() {}
