//go:build !linux

package kube

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// Now returns the current time.
func (awake) Now() time.Time { return clock.Real{}.Now() }
