// Package toolchaintest is for tests that need a compiler of another language, which is
// optional for people who work on something else.
package toolchaintest

import (
	"errors"
	"os"
	"testing"
)

// Missing skips a test whose toolchain was not found, or fails it if an environment variable is
// 1, as in CI. err wraps none and says what to install; it is the same for all tests, which are
// counted by it.
func Missing(t testing.TB, variable string, none, err error) {
	t.Helper()
	if os.Getenv(variable) == "1" || !errors.Is(err, none) {
		t.Fatal(err)
	}
	t.Skip(err)
}
