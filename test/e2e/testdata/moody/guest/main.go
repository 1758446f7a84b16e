// Command guest is the module of package moody.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/test/e2e/testdata/moody"
)

var _ = configure.Export(filter.Export(moody.New()))

func main() {}
