//go:build !linux

package smalldisk

import "testing"

// New skips the test: small file systems are mounted on Linux only.
func New(t testing.TB) (dir string) {
	t.Helper()
	t.Skip("small file systems are mounted on Linux only")
	return ""
}
