// Command guest is the module of package expression.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression"
)

var _ = configure.Export(filter.Export(score.Export(expression.New())))

func main() {}
