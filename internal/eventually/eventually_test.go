package eventually

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTries: it goes on until there is no error, and ends with the last one.
func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, no := 0, errors.New("no")
		try := func() error {
			if n++; n < 50 {
				return no
			}
			return nil
		}
		began := time.Now()
		if err := after(50, try); err != nil || n != 50 {
			t.Errorf("%d tries: %v", n, err)
		}
		if took := time.Since(began); took != 445*time.Millisecond {
			t.Errorf("49 pauses took %v", took)
		}
		if n = 0; !errors.Is(after(49, try), no) || n != 49 {
			t.Errorf("%d tries of 49", n)
		}
		Holds(t, "three", func() bool { n++; return n%3 == 0 })
	})
}
