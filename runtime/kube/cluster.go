package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// writesInFlight is the maximum number of bindings and evictions in flight. By default, API
// servers refuse more than 200 concurrent writes (--max-mutating-requests-inflight). About
// every hundred requests need another connection, whose handshake costs as much as tens of
// requests.
const writesInFlight = 96

// Config is what a Cluster does.
type Config struct {
	// Profiles are the scheduler names whose unbound pods matter. Events are
	// reported under them.
	Profiles []string
	// StatusWriters is how many writes of pod status run at once; 0 means 8.
	StatusWriters int
	// HeldWrites is how many writes a second may say, in the status of pods, why PreEnqueue plugins hold them back; 0 means none.
	// HeldBy are the names of these plugins; nil means all.
	HeldWrites int
	HeldBy     []string
	// Quiet writes no event for a pod that was placed. A pod that is created, placed and reported
	// in an event costs the API server three writes instead of two.
	Quiet bool
	// CompareTolerations is as in package tainttoleration.
	CompareTolerations bool
}

// Deps is what a Cluster is connected to.
type Deps struct {
	Client kubernetes.Interface
	// Plugins (optional) watches the objects of berth.dev and writes their status.
	Plugins rest.Interface
	// KubeConfig (optional) is for plugins of kube-scheduler's framework that make clients of their own.
	KubeConfig *rest.Config
	// Events (optional) writes events; nil means Client.
	Events kubernetes.Interface
	// Covered (optional) returns why nothing may be written without the lease. Writes through
	// Client and Events check that themselves.
	Covered func() error
	// Reach (optional) knows whether the API server answers to Client and Events. What it
	// finds is logged, with what waits to be written.
	Reach *Reach
	// Requests (optional) knows which requests of Client, Plugins and Events fail. What it finds is logged and told in events.
	Requests *Requests
	// Pace (optional) is the limit of Client's requests, for which bindings wait before their node is looked at again.
	Pace flowcontrol.RateLimiter
	// Observer (optional) observes writes.
	Observer WriteObserver
	Clock    clock.Clock  // optional: the machine's if nil
	Log      *slog.Logger // optional
	// Panicked (optional) is told of each panic that was stopped, besides Log, by any goroutine.
	Panicked func(*plugin.Panic)
	// Fault (optional) is for tests: it may panic where a panic must be stopped. at is conversion, status, event or claim,
	// and what the object.
	Fault func(at, what string)
}

// WriteObserver observes writes to the API server. Several goroutines call it.
type WriteObserver interface {
	// Wrote is called after a write. Its kind is one of pod_binding, pod_status_patch,
	// pod_delete, pv_update, pvc_update, claim_create, claim_update, claim_delete, claim_status_update or
	// claim_status_patch.
	Wrote(kind string, took time.Duration, err error)
	// Sent is called when a binding is sent, with the time since PreBind has ended.
	Sent(age time.Duration)
	// Prepared is called for each device of a pod that waited until its devices were ready, with how that
	// ended; own is true if the device has binding conditions itself.
	Prepared(profile, driver, result string, own bool, took time.Duration)
}

// Cluster is a Kubernetes cluster for a scheduler. Plugins and the scheduler can use it
// from New on, but it delivers no events before Start.
type Cluster struct {
	config Config
	deps   Deps
	log    *slog.Logger

	stores   *stores.Stores
	waiters  *waiters
	claims   *claimWriter
	devices  hostplugins.Devices
	status   *statusWriter
	held     *heldPods // nil without Config.HeldWrites
	events   *eventWriter
	watches  *watches
	plugins  *pluginWatch
	arrivals *arrivals
	slots    chan struct{} // bindings and evictions in flight
	finished sync.Once
	bindings atomic.Int64       // begun and not finished
	silence  context.CancelFunc // stops what runs until Close
}

var (
	_ objects.Binder        = (*Cluster)(nil)
	_ objects.Evictor       = (*Cluster)(nil)
	_ objects.Patcher       = (*Cluster)(nil)
	_ objects.VolumeWriter  = (*Cluster)(nil)
	_ objects.StorageWaiter = (*waiters)(nil)
	_ objects.Existence     = (*Cluster)(nil)
	_ scheduler.Outlet      = (*Cluster)(nil)
	_ scheduler.Objects     = (*Cluster)(nil)
)

// New returns a cluster that is not watched yet. Close stops what New started.
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
		slots: make(chan struct{}, writesInFlight), stores: stores.New(), waiters: &waiters{}, arrivals: newArrivals(),
	}
	var err error
	if c.watches, err = newWatches(c); err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	if c.plugins, err = newPluginWatch(c); err != nil {
		return nil, fmt.Errorf("kube: berth.dev: %w", err)
	}
	if c.events, err = newEventWriter(config.Profiles, deps.Events, &c.deps); err != nil {
		return nil, fmt.Errorf("kube: events: %w", err)
	}
	c.status = newStatusWriter(config.StatusWriters, &c.deps)
	if config.HeldWrites > 0 {
		c.held = newHeldPods(c, config.HeldWrites)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.silence = cancel
	c.claims = &claimWriter{cluster: c, ended: ctx.Done()}
	c.claims.mu.begun, c.claims.mu.named = make(map[types.UID]chan struct{}), make(map[types.UID]time.Time)
	c.devices = hostplugins.NewDevices(c.stores.Storage.Devices(), c.claims, c.waiters)
	if deps.Reach != nil {
		go c.tellReach(ctx, deps.Reach)
	}
	if deps.Requests != nil {
		go c.tellFailures(ctx, deps.Requests)
	}
	return c, nil
}

// Storage returns the objects that volume plugins read.
func (c *Cluster) Storage() hostplugins.Storage {
	return hostplugins.Storage{Objects: c.stores.Storage.Objects(), Writer: c, Waiter: c.waiters, Exists: c}
}

// Devices returns the resource claims and devices.
func (c *Cluster) Devices() hostplugins.Devices { return c.devices }

// Budgets returns the PodDisruptionBudgets.
func (c *Cluster) Budgets() objects.PodDisruptionBudgets { return c.stores.Budgets }

// Services returns the services.
func (c *Cluster) Services() objects.Services { return c.stores.Owners }

// Controllers returns the owners of pods.
func (c *Cluster) Controllers() objects.Controllers { return c.stores.Owners }

// Objects are the objects besides nodes, pods and namespaces that decisions depend on. They are
// shared and must not be changed.
type Objects struct {
	Storage              []metav1.Object
	Owners               []metav1.Object // services and controllers of pods
	PodDisruptionBudgets []*policyv1.PodDisruptionBudget
}

// Objects returns the objects. It must be called on the scheduler's loop.
func (c *Cluster) Objects() Objects {
	list, _ := c.stores.Budgets.List() // it cannot fail
	return Objects{Storage: c.stores.Storage.All(), Owners: c.stores.Owners.All(), PodDisruptionBudgets: list}
}

// All implements scheduler.Objects.
func (c *Cluster) All() []metav1.Object { return c.stores.All() }

// Close finishes pending writes, until the context ends: after Run these are events, which the lease need not cover. The scheduler
// must have stopped before.
func (c *Cluster) Close(ctx context.Context) {
	c.watches.stop()
	c.finish(ctx)
	if n := c.events.finish(ctx); n > 0 {
		c.log.LogAttrs(ctx, slog.LevelWarn, "events were not written before exit", slog.Int64("events", n))
	}
	c.events.close()
	c.silence()
}

// finish finishes the writes of pods and claims that have begun, until the context ends. Afterwards the lease is
// released and another replica starts, which needs neither the pending status nor the events of this one.
func (c *Cluster) finish(ctx context.Context) {
	c.finished.Do(func() {
		c.claims.finish(ctx)
		c.held.close()
		c.status.close(ctx)
	})
}

func (d *Deps) wrote(kind string, watch clock.Stopwatch, err error) {
	if d.Observer != nil {
		d.Observer.Wrote(kind, watch.Elapsed(), err)
	}
}
