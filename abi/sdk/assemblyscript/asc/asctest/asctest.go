// Package asctest provides tests with the AssemblyScript toolchain, which is optional for
// people who work on something else.
package asctest

import (
	"context"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc"
	"github.com/berth-scheduler/berth/abi/sdk/internal/toolchaintest"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// Require is the environment variable that makes a missing toolchain a failure, as
// in CI.
const Require = "BERTH_REQUIRE_ASSEMBLYSCRIPT"

// Toolchain returns the toolchain for the plugin in a folder. Without one the test is
// skipped, or fails if BERTH_REQUIRE_ASSEMBLYSCRIPT is 1. Tests of make test are always skipped.
func Toolchain(t testing.TB, dir string) *asc.Toolchain {
	t.Helper()
	testrest.Only(t) // the compiler takes seconds for a guest
	toolchain, err := asc.Find(context.Background(), dir)
	if err != nil {
		toolchaintest.Missing(t, Require, asc.ErrNoToolchain, err)
	}
	return toolchain
}
