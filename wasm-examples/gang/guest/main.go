// Command guest is the module of package gang.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/hint"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/permit"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/postfilter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/preenqueue"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prefilter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/unreserve"
	"github.com/berth-scheduler/berth/wasm-examples/gang"
)

var _ = configure.Export(preenqueue.Export(hint.Export(prefilter.Export(postfilter.Export(
	reserve.Export(unreserve.Export(permit.Export(gang.New()))))))))

func main() {}
