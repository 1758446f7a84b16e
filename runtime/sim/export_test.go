package sim

import (
	"context"

	"github.com/berth-scheduler/berth/runtime/assembly"
)

// Reload replaces plugins by those of a configuration, while nothing is to be done, such as in Watch before time passes.
func (s *Sim) Reload(ctx context.Context, c *assembly.Config) error {
	done := make(chan error)
	go func() {
		_, err := s.assembly.Reload(ctx, c.Scheduler)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			for s.assembly.Scheduler.Step(ctx) { // pods that other plugins may let pass
			}
			return err
		default:
			s.assembly.Scheduler.Step(ctx)
		}
	}
}
