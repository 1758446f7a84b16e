// Command guest is the module of package fitplus.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/fitplus"
)

var _ = configure.Export(score.Export(fitplus.New()))

func main() {}
