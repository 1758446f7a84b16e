package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// suspects has a name of its own because variables of run are named after the package.
type suspects = scheduler.Suspects

// The pause before the scheduler starts again doubles from the first to the last, and is the first again after a round
// that lasted.
const (
	firstRestart = time.Second
	lastRestart  = time.Minute
	lasted       = 10 * time.Minute
)

// rounds runs the scheduler, and after a panic of its loop once more, from the watch: queue and cache may be half-changed.
// A round ends with the release of its lease. Suspects remember from round to round which objects to hold back.
func rounds(ctx context.Context, log *slog.Logger, wait func(ctx context.Context, pause time.Duration), once func(context.Context, *suspects) error) error {
	var known suspects
	pause := firstRestart
	for {
		begin := time.Now()
		round, end := context.WithCancel(ctx)
		err := once(round, &known)
		end()
		if !errors.Is(err, scheduler.ErrBroken) || ctx.Err() != nil {
			return err
		}
		if time.Since(begin) >= lasted {
			pause = firstRestart
		}
		log.Error("the scheduler has given up its lease and starts again from the watch", "error", err, "pause", pause, "times", known.Panics())
		wait(ctx, pause)
		pause = min(2*pause, lastRestart)
	}
}

// sleep waits for a pause, or until the context ends.
func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// panicked counts a panic that was stopped.
func (w *watched) panicked(p *plugin.Panic) { w.metrics.Panicked(string(p.Place)) }
