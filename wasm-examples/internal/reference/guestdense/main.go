// Command guestdense is the module of the reference workload with a column for each label key.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/wasm-examples/internal/reference"
)

var _ = filter.Export(reference.NewDense())

func main() {}
