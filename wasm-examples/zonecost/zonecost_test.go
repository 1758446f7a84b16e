package zonecost_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/zonecost"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", zonecost.Manifest, berthtest.Native(zonecost.New))
}
