package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// writesInFlight is how many bindings and evictions are on their way at most. API servers
// refuse more than 200 writes at once unless they are told otherwise
// (--max-mutating-requests-inflight), and each hundred or so is another connection, with
// a handshake that costs as much as tens of requests.
const writesInFlight = 96

// Config is what a Cluster does.
type Config struct {
	// Profiles are the scheduler names whose unbound pods matter. Events are
	// reported under them.
	Profiles []string
	// StatusWriters is how many writes of pod status run at once; 0 means 8.
	StatusWriters int
	// Quiet writes no event for a pod that was placed. A pod that is made, placed and told of
	// in an event costs the API server three writes, otherwise two.
	Quiet bool
}

// Deps is what a Cluster is connected to.
type Deps struct {
	Client kubernetes.Interface
	// Events (optional) writes events; nil means Client.
	Events kubernetes.Interface
	// Covered (optional) returns why nothing may be written for want of a lease, which
	// writes by Client and Events find out by themselves.
	Covered func() error
	// Reach (optional) knows whether the API server answers to Client and Events. What it
	// finds is logged, with what waits to be written.
	Reach *Reach
	// Observer (optional) hears of writes.
	Observer WriteObserver
	Clock    clock.Clock  // optional: the machine's if nil
	Log      *slog.Logger // optional
}

// WriteObserver hears how writes to the API server went, from several goroutines.
type WriteObserver interface {
	// Wrote hears of a write that has ended, of its kind: pod_binding, pod_status_patch,
	// pod_delete, pv_update or pvc_update.
	Wrote(kind string, took time.Duration, err error)
}

// Cluster is a Kubernetes cluster as a scheduler sees it. What plugins and the
// scheduler need of it can be used from New on; it is told of nothing before Start.
type Cluster struct {
	config Config
	deps   Deps
	log    *slog.Logger

	store    *storage.Store
	owners   *owners.Store
	budgets  *budgets
	waiters  *waiters
	status   *statusWriter
	events   *eventWriter
	watches  *watches
	slots    chan struct{} // bindings and evictions that are on their way
	finished sync.Once
	bindings atomic.Int64       // that were begun and are not made yet
	silence  context.CancelFunc // ends what is logged of Deps.Reach
}

var (
	_ objects.Binder               = (*Cluster)(nil)
	_ objects.Evictor              = (*Cluster)(nil)
	_ objects.Patcher              = (*Cluster)(nil)
	_ objects.VolumeWriter         = (*Cluster)(nil)
	_ objects.StorageWaiter        = (*waiters)(nil)
	_ objects.Existence            = (*Cluster)(nil)
	_ scheduler.Outlet             = (*Cluster)(nil)
	_ objects.PodDisruptionBudgets = (*budgets)(nil)
)

// New returns a cluster that is not watched yet. Close ends what it started.
func New(config Config, deps Deps) (*Cluster, error) {
	if deps.Client == nil {
		return nil, errors.New("kube: Deps.Client is missing")
	}
	if len(config.Profiles) == 0 {
		return nil, errors.New("kube: Config.Profiles is empty")
	}
	if deps.Events == nil {
		deps.Events = deps.Client
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Covered == nil {
		deps.Covered = func() error { return nil }
	}
	if deps.Clock == nil {
		deps.Clock = clock.Real{}
	}
	if config.StatusWriters == 0 {
		config.StatusWriters = 8
	}
	c := &Cluster{
		config: config, deps: deps, log: deps.Log,
		slots: make(chan struct{}, writesInFlight), store: storage.New(), owners: owners.New(), budgets: &budgets{}, waiters: &waiters{},
	}
	var err error
	if c.watches, err = newWatches(c); err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	if c.events, err = newEventWriter(config.Profiles, deps.Events); err != nil {
		return nil, fmt.Errorf("kube: events: %w", err)
	}
	c.status = newStatusWriter(config.StatusWriters, &c.deps)
	ctx, cancel := context.WithCancel(context.Background())
	c.silence = cancel
	if deps.Reach != nil {
		go c.tellReach(ctx, deps.Reach)
	}
	return c, nil
}

// Storage returns what volume plugins work with.
func (c *Cluster) Storage() hostplugins.Storage {
	return hostplugins.Storage{Objects: c.store.Objects(), Writer: c, Waiter: c.waiters, Exists: c}
}

// Budgets returns the PodDisruptionBudgets.
func (c *Cluster) Budgets() objects.PodDisruptionBudgets { return c.budgets }

// Services returns the services.
func (c *Cluster) Services() objects.Services { return c.owners }

// Controllers returns what owns pods.
func (c *Cluster) Controllers() objects.Controllers { return c.owners }

// Close writes what is still to be written, until the context ends. The scheduler
// must have stopped.
func (c *Cluster) Close(ctx context.Context) {
	c.watches.stop()
	c.finish(ctx)
	c.events.close()
	c.silence()
}

// finish writes what is still to be written of pods, until the context ends: the lease is
// given back after it, and another replica begins.
func (c *Cluster) finish(ctx context.Context) {
	c.finished.Do(func() {
		c.status.close(ctx)
		if n := c.events.finish(ctx); n > 0 {
			c.log.LogAttrs(ctx, slog.LevelWarn, "events were not written before the end", slog.Int64("events", n))
		}
	})
}

func (d *Deps) wrote(kind string, watch clock.Stopwatch, err error) {
	if d.Observer != nil {
		d.Observer.Wrote(kind, watch.Elapsed(), err)
	}
}
