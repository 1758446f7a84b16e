package kube

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Loop is the scheduler's loop: a *scheduler.Scheduler.
type Loop interface {
	Scheduler
	Standby(ctx context.Context) error
	Run(ctx context.Context) error
}

// RunConfig says how to run a scheduler.
type RunConfig struct {
	// DelayCacheUntilActive watches the cluster only while this replica leads. A standby then
	// costs nothing, but takes longer to take over.
	DelayCacheUntilActive bool
	// Leading (optional) is told when this replica begins to lead, and when it has
	// been told of all that there is and begins to schedule.
	Leading, Scheduling func()
	// Parts (optional) returns the parts of the scheduler that may fail separately. Events report
	// their failure and recovery while this replica schedules.
	Parts func() []Part
	// Before (optional) is called when this replica has been told of all that there is and before
	// it tries pods; Beside (optional) runs in a goroutine of its own until it no longer schedules.
	Before func(context.Context) error
	Beside func(context.Context)
	// Grace bounds how long writes that have begun may take before the lease is released.
	Grace time.Duration
}

// Run schedules the cluster's pods while this replica leads, until the context ends. Then it
// waits for the writes in flight, and releases the lease. Pods that wait at Permit stay unbound for the next leader. Events
// are written until Close.
//
// # Errors
//
// ErrLeaseLost; an error of the loop, for which the lease is released.
func (c *Cluster) Run(ctx context.Context, config RunConfig, loop Loop, election *Election) error {
	if !config.DelayCacheUntilActive {
		if err := c.Start(loop); err != nil {
			return err
		}
	}
	standby, leave := context.WithCancel(ctx)
	left := make(chan struct{})
	ctx, end := context.WithCancel(ctx)
	defer end()
	var broken error
	go func() {
		defer close(left)
		if broken = loop.Standby(standby); broken != nil {
			end() // this replica does not want to lead any more
		}
	}()
	err := election.Lead(ctx, func(ctx context.Context) error {
		if config.Leading != nil {
			config.Leading()
		}
		if config.DelayCacheUntilActive {
			if err := c.Start(loop); err != nil {
				return err
			}
		}
		if err := c.Await(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the cluster: %w", err)
		}
		if config.Before != nil {
			if err := config.Before(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		leave()
		<-left
		if config.Scheduling != nil {
			config.Scheduling()
		}
		stop := func() {}
		if config.Parts != nil {
			stop = c.tellOf(ctx, config.Parts, election)
		}
		var beside sync.WaitGroup
		working, end := context.WithCancel(ctx)
		if config.Beside != nil {
			beside.Go(func() { config.Beside(working) })
		}
		err := loop.Run(ctx)
		stop()
		end()
		beside.Wait()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), config.Grace)
		defer cancel()
		c.finish(last)
		return err
	})
	leave()
	<-left
	return cmp.Or(err, broken)
}
