//go:build unix

// Package ours tells files of this user from those of others.
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
