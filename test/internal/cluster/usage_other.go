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
