// Command guestcsr is the module of the reference workload with lists of labels.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/wasm-examples/internal/reference"
)

var _ = filter.Export(reference.NewCSR())

func main() {}
