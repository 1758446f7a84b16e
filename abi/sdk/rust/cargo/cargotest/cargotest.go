// Package cargotest provides tests with the Rust toolchain, which is optional for people who
// work on something else.
package cargotest

import (
	"context"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/internal/toolchaintest"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// Require is the environment variable that makes a missing toolchain a failure, as
// in CI.
const Require = "BERTH_REQUIRE_RUST"

// Toolchain returns the toolchain. Without one the test is skipped, or fails if
// BERTH_REQUIRE_RUST is 1. Tests of make test are always skipped.
func Toolchain(t testing.TB) *cargo.Toolchain {
	t.Helper()
	testrest.Only(t) // the compiler takes seconds for a guest
	toolchain, err := cargo.Find(context.Background())
	if err != nil {
		toolchaintest.Missing(t, Require, cargo.ErrNoToolchain, err)
	}
	return toolchain
}
