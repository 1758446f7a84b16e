//go:build !linux

package scale

import "syscall"

// peak is the largest resident set, which other systems give in bytes.
func peak(u *syscall.Rusage) int64 { return u.Maxrss }
