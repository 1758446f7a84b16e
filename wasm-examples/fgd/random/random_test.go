package random_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/random"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", random.Manifest, berthtest.Native(random.New))
}
