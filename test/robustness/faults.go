package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// fault is what happens once: begin, a time, and its end. One that a scheduler cannot have has no begin.
type fault struct {
	name  string
	lasts time.Duration
	begin func(ctx context.Context) (end func() error, err error)
}

func (r *run) faults() []fault {
	none := func() error { return nil }
	paused := func(of func(context.Context) *cluster.Process) func(context.Context) (func() error, error) {
		return func(ctx context.Context) (func() error, error) {
			p := of(ctx)
			return p.Resume, p.Pause()
		}
	}
	leader := func(ctx context.Context) *cluster.Process { return r.leader(ctx).process() }
	return append([]fault{
		{"leader killed", 0, func(ctx context.Context) (func() error, error) { return none, leader(ctx).Kill() }},
		{"leader stopped", 0, func(ctx context.Context) (func() error, error) { stop(leader(ctx)); return none, nil }},
		{"leader paused for 5 s", 5 * time.Second, paused(leader)},
		{"leader paused for 20 s", 20 * time.Second, paused(leader)},
		{"leader cut off for 5 s", 5 * time.Second, func(ctx context.Context) (func() error, error) {
			one := r.leader(ctx)
			one.proxy.Cut()
			return func() error { one.proxy.Mend(); return nil }, nil
		}},
		{"leader cut off for 20 s", 20 * time.Second, func(ctx context.Context) (func() error, error) {
			one := r.leader(ctx)
			one.proxy.Cut()
			return func() error { one.proxy.Mend(); return nil }, nil
		}},
		{"leader with 200 ms to the API server for 10 s", 10 * time.Second, func(ctx context.Context) (func() error, error) {
			one := r.leader(ctx)
			one.proxy.Delay(200 * time.Millisecond)
			return func() error { one.proxy.Delay(0); return nil }, nil
		}},
		{"API server killed, and started", 0, func(ctx context.Context) (func() error, error) {
			err := r.APIServer().Kill()
			return func() error { return r.StartAPIServer(ctx) }, err
		}},
		{"API server paused for 5 s", 5 * time.Second, paused(func(context.Context) *cluster.Process { return r.APIServer() })},
		{"etcd killed, and started", 0, func(context.Context) (func() error, error) { return r.StartEtcd, r.Etcd().Kill() }},
		{"etcd paused for 5 s", 5 * time.Second, paused(func(context.Context) *cluster.Process { return r.Etcd() })},
		{"etcd slow for 10 s", 10 * time.Second, r.slowEtcd},
	}, r.ofParts(leader)...)
}

// stop stops a scheduler, which may just end by itself, because it lost its Lease.
func stop(p *cluster.Process) {
	if err := p.Stop(time.Minute); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
}

// slowEtcd lets etcd run for 50 ms of each 300 ms, so that a write takes as long as with a slow disk.
func (r *run) slowEtcd(context.Context) (end func() error, err error) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := r.Etcd().Pause(); err != nil {
				ended <- err
				return
			}
			time.Sleep(250 * time.Millisecond)
			if err := r.Etcd().Resume(); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() error { close(stop); return <-ended }, nil
}
