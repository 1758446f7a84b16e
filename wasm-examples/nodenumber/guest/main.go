// Command guest is the module of package nodenumber.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/wasm-examples/nodenumber"
)

var _ = configure.Export(score.Export(nodenumber.New()))

func main() {}
