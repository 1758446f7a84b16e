package laws_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the laws at the top of the repository, whose files they look at.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
