// Command guest is the module of package celgo.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/test/internal/celgo"
)

var _ = configure.Export(filter.Export(celgo.New()))

func main() {}
