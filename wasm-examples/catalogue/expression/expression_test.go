package expression_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", expression.Manifest, berthtest.Native(expression.New))
}
