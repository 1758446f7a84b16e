// Command guest is the module of package everypoint.
package main

import (
	"github.com/berth-scheduler/berth/abi/sdk/go/export/addpod"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/bind"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/hint"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/normalize"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/permit"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/postbind"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/postfilter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prebind"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/preenqueue"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prefilter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/prescore"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/queuekey"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/reserve"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/unreserve"
	"github.com/berth-scheduler/berth/wasm-examples/internal/everypoint"
)

var _ = configure.Export(preenqueue.Export(queuekey.Export(hint.Export(
	prefilter.Export(addpod.Export(filter.Export(postfilter.Export(
		prescore.Export(score.Export(normalize.Export(
			reserve.Export(unreserve.Export(permit.Export(
				prebind.Export(bind.Export(postbind.Export(everypoint.New())))))))))))))))))

func main() {}
