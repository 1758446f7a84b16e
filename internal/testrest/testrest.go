// Package testrest divides tests: those with names that begin with TestRest are slow, and make test leaves them out.
// make test-rest runs them.
package testrest

import (
	"flag"
	"strconv"
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

// Checks has rapid draw so many cases in a test of make test, unless its flag is set; in others it draws as many as ever.
func Checks(t testing.TB, few int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if In(t) || f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(few)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) }) // a value that it had
}
