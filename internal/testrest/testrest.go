// Package testrest divides tests: those with names that begin with TestRest are slow, and make test leaves them out.
// make test-rest runs them.
package testrest

import (
	"strings"
	"testing"
)

// In reports whether a test, or the benchmark or fuzz target, may be slow. A function that two tests call, TestX and
// TestRestX, then does less in the first.
func In(t testing.TB) bool {
	return strings.HasPrefix(t.Name(), "TestRest") || !strings.HasPrefix(t.Name(), "Test")
}

// Only skips what is slow in a test of make test.
func Only(t testing.TB) {
	t.Helper()
	if !In(t) {
		t.Skip("slow: make test-rest runs it")
	}
}
