// Package clangtest provides tests with the C toolchain, which is optional for people who work
// on something else.
package clangtest

import (
	"context"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
	"github.com/berth-scheduler/berth/abi/sdk/internal/toolchaintest"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// Require is the environment variable that makes a missing toolchain a failure, as
// in CI.
const Require = "BERTH_REQUIRE_C"

// Toolchain returns the toolchain. Without one the test is skipped, or fails if
// BERTH_REQUIRE_C is 1. Tests of make test are always skipped.
func Toolchain(t testing.TB) *clang.Toolchain {
	t.Helper()
	testrest.Only(t) // the compiler takes seconds for a guest
	toolchain, err := clang.Find(context.Background())
	if err != nil {
		toolchaintest.Missing(t, Require, clang.ErrNoToolchain, err)
	}
	return toolchain
}
