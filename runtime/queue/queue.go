// Package queue is the scheduling queue: where unbound pods wait, and which of
// them is tried next. Its semantics are those of kube-scheduler v1.36 with its
// default feature gates, hence with queueing hints (KEP-4247) and popping from
// the backoff queue (KEP-5142).
//
// It knows no plugins: order, gates and hints are functions that it is given,
// called with as many pods at once as there are. It reads the time from its clock
// only, and the same calls at the same times give the same order.
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
	// InitialBackoff is the backoff after the first failed try.
	InitialBackoff time.Duration
	// MaxBackoff bounds the backoff, which doubles with each failed try. Zero
	// means no backoff at all.
	MaxBackoff time.Duration
	// MaxUnschedulable is how long a pod stays parked without an event that
	// could help it.
	MaxUnschedulable time.Duration
	// LeftoverInterval is how often pods parked for longer are looked for.
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
//	│  │          │ an event helps        │ Tick: parked too long
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
// and Delete removes it from any of them. Of all places Pop looks at Active, then
// at Backoff, never at ErrorBackoff: pods there wait because something else is
// broken, and trying earlier would add to it.
//
// One goroutine owns a Queue; there are no locks. The functions in Deps must not
// call the queue back, nor keep or change the slices that they are given.
type Queue struct {
	config Config
	deps   Deps

	pods   map[types.UID]*item
	counts [numPlaces]int

	active       *podHeap
	backoff      *podHeap // by end of backoff, then as active
	errorBackoff *podHeap // by end of backoff
	parked       list     // Unschedulable, the longest parked first
	gated        list     // the longest gated first
	inFlight     list     // in the order of popping
	binding      list     // in the order of Done

	events     eventLog
	nominator  nominator
	start      time.Time // leftovers are looked for at start + n·LeftoverInterval
	flushedFor time.Time // the last such time that was handled

	batch batch // scratch
}

// New returns an empty queue.
func New(config Config, deps Deps) (*Queue, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if deps.Clock == nil || deps.Less == nil || deps.Gate == nil || deps.Hint == nil {
		return nil, errors.New("queue: Clock, Less, Gate and Hint are required")
	}
	q := &Queue{config: config, deps: deps, pods: make(map[types.UID]*item), nominator: newNominator()}
	q.active = newHeap(deps.Less)
	q.backoff = newHeap(q.lessBackoff)
	q.errorBackoff = newHeap(lessErrorBackoff)
	q.start = deps.Clock.Now()
	q.flushedFor = q.start
	return q, nil
}

// Deps is what a queue is told by others. Batched functions set out[i] for
// pods[i]; out comes zeroed.
type Deps struct {
	Clock clock.Clock
	// Less reports whether a is tried before b. It must be a strict weak order
	// that changes only before Rebuild; pods that it does not tell apart keep the
	// order in which they entered the heap.
	Less func(a, b *state.QueuedPod) bool
	// Key (optional) computes what Less compares, where that is expensive. It is
	// called for pods about to enter Active or a backoff from elsewhere, for pods
	// there that were updated, and by Rebuild for all pods there.
	Key func(pods []*state.QueuedPod)
	// Gate asks the PreEnqueue plugins, of a pod with GatedBy set that plugin
	// first.
	Gate func(pods []*state.QueuedPod, out []GateResult)
	// Wants (optional) reports whether any plugin registered the event. An event
	// that none wants is not looked at further. It is not asked about wildcards.
	Wants func(event state.ClusterEvent) bool
	// Hint answers whether the event is worth another try for each pod, asking
	// only plugins in Rejectors and Pending that registered the event. For a pod
	// with GatedBy set the answer must be Leave unless that plugin registered the
	// event, or object.NewPod is the pod itself; only gated pods are asked about
	// wildcards. GatedBy is among Rejectors.
	Hint func(event state.ClusterEvent, object state.Object, pods []*state.QueuedPod, out []state.Requeue)
	// Observe (optional) hears of every change of place.
	Observe func(Transition)
}

// GateResult says whether a pod may enter the queue.
type GateResult struct {
	Plugin string // the plugin that gates the pod; empty if none does
	Reason string
}

// Transition is a pod's change of place.
type Transition struct {
	// Pod is valid during the call.
	Pod      *state.QueuedPod
	From, To Place
	// Event is the reason. Reasons that are no cluster events have a label only:
	// Pop, PopFromBackoffQ, Done, ScheduleAttemptFailure, BackoffComplete, Ungate.
	Event state.ClusterEvent
}

// reason is a cause of a transition that is not a cluster event.
func reason(label string) state.ClusterEvent { return state.ClusterEvent{Label: label} }
