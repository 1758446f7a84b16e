// Command guest is the module of package faulty.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/test/e2e/testdata/faulty"
)

var _ = configure.Export(filter.Export(faulty.New()))

func main() {}
