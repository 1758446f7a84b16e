package bestfit_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/bestfit"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", bestfit.Manifest, berthtest.Native(bestfit.New))
}
