// Package eventually waits in tests for what happens beside them. It counts tries, not seconds: on a busy machine the same
// number takes longer, so that load alone fails no test.
package eventually

import (
	"errors"
	"testing"
	"time"
)

// tries take two minutes if the processor is free.
const tries = 12_000

// Holds tries until a condition holds. If it never does, the test ends, and says what should have been.
func Holds(t testing.TB, what string, holds func() bool) {
	t.Helper()
	never := errors.New(what)
	Succeeds(t, func() error {
		if holds() {
			return nil
		}
		return never
	})
}

// Succeeds tries until there is no error. If there always is one, the test ends with the last.
func Succeeds(t testing.TB, try func() error) {
	t.Helper()
	if err := after(tries, try); err != nil {
		t.Fatalf("never, in %d tries: %v", tries, err)
	}
}

func after(tries int, try func() error) (err error) {
	for n := range tries {
		if err = try(); err == nil {
			return nil
		}
		time.Sleep(min(time.Duration(n+1)*time.Millisecond, 10*time.Millisecond)) //nolint:forbidigo // tests wait for what is beside them
	}
	return err
}
