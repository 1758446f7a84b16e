// Command guest is the module of package zonecost.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/zonecost"
)

var _ = configure.Export(score.Export(zonecost.New()))

func main() {}
