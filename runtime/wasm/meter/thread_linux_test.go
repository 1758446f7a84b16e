package meter_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the time that this thread has computed.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
