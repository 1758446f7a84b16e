// Command guest is the module of package marked.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/test/e2e/testdata/marked"
)

var _ = filter.Export(marked.New())

func main() {}
