package kube

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since the machine was started, as a time.
func (awake) Now() time.Time {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("BUG: CLOCK_BOOTTIME: " + err.Error()) // Linux has it since 2.6.39
	}
	return time.Unix(t.Unix())
}
