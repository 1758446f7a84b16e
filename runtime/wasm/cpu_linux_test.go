package wasm_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the time that this process has computed, with what was collected as
// garbage.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
