package kube

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// awake is a clock that nothing but a restart of the machine stops or sets: on Linux it
// goes on while the machine is suspended, which the monotonic clock of time.Time does not,
// and nobody sets it, as the clock on the wall is. Its times are good for differences.
type awake struct{}

var _ clock.Clock = awake{}

// Until implements clock.Clock. While the machine is suspended nothing is told.
func (a awake) Until(t time.Time) (reached <-chan struct{}, stop func()) {
	return clock.Real{}.Until(clock.Real{}.Now().Add(t.Sub(a.Now())))
}
