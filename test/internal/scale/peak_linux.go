package scale

import "syscall"

// peak is the largest resident set, which Linux gives in KiB.
func peak(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
