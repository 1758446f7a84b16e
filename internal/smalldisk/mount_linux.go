package smalldisk

import (
	"fmt"
	"syscall"
	"testing"
)

// New returns a folder on a file system of its own with Size bytes. The test is skipped if it may not mount one.
func New(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", Size)); err != nil {
		t.Skip("a small file system cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
