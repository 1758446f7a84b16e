// Package clangtest gives tests the C toolchain, which is optional for who works on
// something else.
package clangtest

import (
	"context"
	"os"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
)

// Require is the environment variable that makes a missing toolchain a failure, as
// in CI.
const Require = "BERTH_REQUIRE_C"

// Toolchain returns the toolchain. Without one the test is skipped, or fails if
// BERTH_REQUIRE_C is 1.
func Toolchain(t testing.TB) *clang.Toolchain {
	t.Helper()
	toolchain, err := clang.Find(context.Background())
	switch {
	case err == nil:
		return toolchain
	case os.Getenv(Require) == "1":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return nil
}
