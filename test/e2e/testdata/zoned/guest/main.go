// Command guest is the module of package zoned.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/test/e2e/testdata/zoned"
)

var _ = filter.Export(zoned.New())

func main() {}
