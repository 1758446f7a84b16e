// Package queue is the scheduling queue: unbound pods wait in it, and it decides which is tried
// next. It behaves like that of kube-scheduler v1.37 with default feature gates, hence with
// queueing hints (KEP-4247) and popping from the backoff queue (KEP-5142).
//
// It does not depend on plugins: order, gates and hints are callbacks, called with as many pods
// at once as possible. It reads the time only from its clock, and the same calls at the same
// times give the same order.
package queue

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Config holds the durations of a queue.
type Config struct {
	// InitialBackoff is the backoff after the first failed attempt.
	InitialBackoff time.Duration
	// MaxBackoff bounds the backoff, which doubles with each failed attempt. Zero means no
	// backoff.
	MaxBackoff time.Duration
	// MaxUnschedulable is how long a pod stays parked without an event that could help it.
	MaxUnschedulable time.Duration
	// LeftoverInterval is how often the queue looks for pods that were parked for longer.
	LeftoverInterval time.Duration
}

// DefaultConfig returns kube-scheduler's durations.
func DefaultConfig() Config {
	return Config{
		InitialBackoff:   time.Second,
		MaxBackoff:       10 * time.Second,
		MaxUnschedulable: 5 * time.Minute,
		LeftoverInterval: 30 * time.Second,
	}
}

func (c Config) validate() error {
	switch {
	case c.MaxBackoff < 0:
		return fmt.Errorf("queue: max backoff %v is negative", c.MaxBackoff)
	case c.MaxBackoff > 0 && c.InitialBackoff <= 0:
		return fmt.Errorf("queue: initial backoff %v is not positive", c.InitialBackoff)
	case c.MaxBackoff > 0 && c.InitialBackoff > c.MaxBackoff:
		return fmt.Errorf("queue: initial backoff %v exceeds max backoff %v", c.InitialBackoff, c.MaxBackoff)
	case c.MaxUnschedulable <= 0:
		return fmt.Errorf("queue: max time unschedulable %v is not positive", c.MaxUnschedulable)
	case c.LeftoverInterval <= 0:
		return fmt.Errorf("queue: leftover interval %v is not positive", c.LeftoverInterval)
	}
	return nil
}

// Queue holds every unbound pod from Add to Delete. A pod is in one place:
//
//	             Add
//	              │
//	              ▼
//	┌──────────▶ Active
//	│             │ Pop
//	│             ▼
//	│  ┌──────▶ InFlight ── Done ─▶ Binding ── Delete: bound
//	│  │          │   │               │
//	│  │          │   └── AddFailed ──┴─▶ ErrorBackoff ── Tick: over ─▶ Active
//	│  │          │
//	│  │          │ AddUnschedulable
//	│  │          ├── no event helps ─▶ Unschedulable
//	│  │          │                       │ Move, Update, Activate,
//	│  │          │ an event helps        │ Tick: RetryAt, or parked too long
//	│  │          ▼                       │
//	│  │      must it back off? ◀─────────┘
//	│  │       no │   │ yes
//	└──┼──────────┘   ▼
//	   │            Backoff ── Tick: over; Activate ─▶ Active
//	   │              │
//	   └──────────────┘ Pop, while Active is empty
//
//	on the way into Active or a backoff, if a gate holds the pod ─▶ Gated
//	Gated ── Move, Update, Activate, Release ─▶ as from Unschedulable
//	Gated ── Ungate ─▶ Unschedulable
//
// Delete removes a pod from any place. Pop takes pods from Active, then from Backoff, but never
// from ErrorBackoff: pods there wait because something else is broken, and earlier attempts
// would make it worse.
//
// One goroutine owns a Queue; there are no locks. The functions in Deps must not call the
// queue, and must not keep or change the slices that are passed to them.
type Queue struct {
	config Config
	deps   Deps

	pods   map[types.UID]*item
	counts [numPlaces]int

	active       *lanes
	backoff      *podHeap // by end of backoff, then as in active
	errorBackoff *podHeap // by end of backoff
	parked       list     // Unschedulable, the longest parked first
	gated        list     // the longest gated first
	retries      *podHeap // of the parked and gated, those with a RetryAt, by it
	inFlight     list     // in the order of popping
	binding      list     // in the order of Done

	events     eventLog
	nominator  nominator
	start      time.Time // leftovers are flushed at start + n·LeftoverInterval
	flushedFor time.Time // time of the last flush

	kinds map[string]*kind // of the parked and gated pods

	batch   batch  // scratch
	scratch []byte // for the names of kinds
}

// New returns an empty queue.
func New(config Config, deps Deps) (*Queue, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if deps.Clock == nil || deps.Less == nil || deps.Gate == nil || deps.Hint == nil {
		return nil, errors.New("queue: Clock, Less, Gate and Hint are required")
	}
	q := &Queue{config: config, deps: deps, pods: make(map[types.UID]*item), kinds: make(map[string]*kind), nominator: newNominator()}
	q.active = newLanes(deps.Lane, deps.Less)
	q.backoff = newHeap(q.lessBackoff)
	q.errorBackoff = newHeap(lessErrorBackoff)
	q.retries = newHeap(func(a, b *state.QueuedPod) bool { return a.RetryAt.Before(b.RetryAt) })
	q.start = deps.Clock.Now()
	q.flushedFor = q.start
	return q, nil
}

// Deps are the callbacks of a queue. Batched functions set out[i] for pods[i]; out is zero
// before.
type Deps struct {
	Clock clock.Clock
	// Less reports whether a is tried before b. It must be a strict weak order that changes only
	// before Rebuild. Equal pods keep the order in which they entered the heap.
	Less func(a, b *state.QueuedPod) bool
	// Lane (optional) returns a pod's lane in Active. Without it there is one. It must change only before Relane.
	Lane func(pod *state.QueuedPod) Lane
	// Key (optional) computes what Less compares, if that is expensive. It is called for pods
	// that are about to enter Active or a backoff from elsewhere, for pods there that were
	// updated, and by Rebuild for all pods there.
	Key func(pods []*state.QueuedPod)
	// Gate calls the PreEnqueue plugins; for a pod with GatedBy set that plugin first.
	Gate func(pods []*state.QueuedPod, out []GateResult)
	// Wants (optional) reports whether any plugin registered the event. Other events are
	// ignored. It is not called for wildcards.
	Wants func(event state.ClusterEvent) bool
	// Helps (optional) reports whether the event could help any pod that waits for something, other than by being
	// an update of the pod itself. If not, Hint would answer Leave. It is not called for wildcards.
	Helps func(event state.ClusterEvent, rejection Rejection) bool
	// Hint says for each pod whether the event is worth another attempt. It calls only plugins
	// in Rejectors and Pending that registered the event. For a pod with GatedBy set the answer
	// must be Leave unless that plugin registered the event, or object.NewPod is the pod itself.
	// It is not called for wildcards. Rejectors includes GatedBy.
	Hint func(event state.ClusterEvent, object state.Object, pods []*state.QueuedPod, out []state.Requeue)
	// Enough (optional) says that Hint is to be asked about no more events that came while a pod was in flight: they count as helpful.
	Enough func(pod *state.QueuedPod) bool
	// Retries (optional) reports whether a pod may be tried again because its RetryAt has come. If not, it is asked once more after
	// RetryPause.
	Retries func(pod *state.QueuedPod) bool
	// Observe (optional) is called for every change of place.
	Observe func(Transition)
}

// GateResult says whether a pod may enter the queue.
type GateResult struct {
	Plugin string // the plugin that gates the pod; empty if none does
	Reason string
	// RetryAfter is how soon the gates are asked again, whatever events come; 0 leaves it to events.
	RetryAfter time.Duration
}

// Transition is a pod's change of place.
type Transition struct {
	// Pod is valid during the call.
	Pod      *state.QueuedPod
	From, To Place
	// Event is the reason. Reasons other than cluster events have only a label: Pop,
	// PopFromBackoffQ, Done, ScheduleAttemptFailure, BackoffComplete, RetryAfter, Ungate.
	Event state.ClusterEvent
}

// reason returns the cause of a transition that is not due to a cluster event.
func reason(label string) state.ClusterEvent { return state.ClusterEvent{Label: label} }
