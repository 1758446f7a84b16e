package noisyneighbour_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/noisyneighbour"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", noisyneighbour.Manifest, berthtest.Native(noisyneighbour.New))
}
