// Package toolchaintest is for tests that need a compiler of another language, which is
// optional for people who work on something else.
package toolchaintest

import (
	"errors"
	"os"
	"sync"
	"testing"
)

// Missing skips a test whose toolchain was not found, or fails it if an environment variable is
// 1, as in CI. The first such test says what to install; the others are brief. none is the
// error that err wraps.
func Missing(t testing.TB, variable string, none, err error) {
	t.Helper()
	if os.Getenv(variable) == "1" || !errors.Is(err, none) {
		t.Fatal(err)
	}
	if _, told := told.LoadOrStore(variable, true); told {
		t.Skip(none)
	}
	t.Skip(err)
}

// Slow skips a test with -short: the compiler of another language takes seconds for a
// guest.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: runs a compiler")
	}
}

var told sync.Map //nolint:gochecknoglobals // once in a process, whichever test is first
