//go:build unix

// Package ours reports whether a file belongs to this user.
package ours

import (
	"io/fs"
	"os"
	"syscall"
)

// File reports whether a file belongs to the user that the process runs as.
func File(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}
