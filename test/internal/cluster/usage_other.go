//go:build !linux

package cluster

import (
	"errors"
	"time"
)

// Usage is what a process has used up to now.
type Usage struct {
	CPU        time.Duration
	PeakMemory int64
}

// Usage is read from /proc, which only Linux has.
func (p *Process) Usage() (Usage, error) {
	return Usage{}, errors.New("CPU time and memory of a process are read on Linux only")
}

// PeakMemory is read from /proc, which only Linux has.
func PeakMemory(int) (int64, error) {
	return 0, errors.New("memory of a process is read on Linux only")
}
