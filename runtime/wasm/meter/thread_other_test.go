//go:build !linux

package meter_test

import "time"

// threadTime is the time that has passed, where there is no clock of threads.
func threadTime() time.Duration { return time.Since(start) }

var start = time.Now()
