// Command guest is the module of package devices.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/hint"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prefilter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/unreserve"
	"github.com/berth-scheduler/berth/wasm-examples/devices"
)

var _ = hint.Export(prefilter.Export(filter.Export(score.Export(
	reserve.Export(unreserve.Export(devices.New()))))))

func main() {}
