//go:build unix

package wasm

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user that the process runs as.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}
