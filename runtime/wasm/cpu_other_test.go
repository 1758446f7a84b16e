//go:build !linux

package wasm_test

import "time"

// cpuTime is wall time, where there is no clock of processes.
func cpuTime() time.Duration { return time.Since(start) }

var start = time.Now()
