package kube

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// awake is a monotonic clock that also runs while the machine is suspended (on Linux),
// unlike the monotonic clock of time.Time. Only a restart of the machine resets it. Use its
// times only for differences.
type awake struct{}

var _ clock.Clock = awake{}

// Until implements clock.Clock. Nothing fires while the machine is suspended.
func (a awake) Until(t time.Time) (reached <-chan struct{}, stop func()) {
	return clock.Real{}.Until(clock.Real{}.Now().Add(t.Sub(a.Now())))
}
