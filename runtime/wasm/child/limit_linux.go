package child

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limit limits CPU time and writable memory, mappings included.
func limit(memory uint64, most time.Duration) error {
	seconds := uint64(most/time.Second) + 1
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory})
}

// outOfTime reports whether the CPU time was used up.
func outOfTime(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL)
}
