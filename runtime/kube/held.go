package kube

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ReasonHeld is the reason of the condition PodScheduled of a pod that a PreEnqueue plugin holds back; KEP-5501 plans it.
const ReasonHeld = "NotReadyForScheduling"

// HeldFor is how long a hold, or its end, must last before it is written: most end within a moment.
const HeldFor = 5 * time.Second

// heldPods writes in the status of pods why they are held back, about in the order of the changes and within a budget. A pod has at
// most one change that waits; a change that is undone while it waits is not written.
type heldPods struct {
	cluster *Cluster
	every   time.Duration // between two writes
	wake    chan struct{} // has a token after the first change began to wait
	cancel  context.CancelFunc
	ended   chan struct{}

	// mu is held before the lock of the status writer.
	mu struct {
		sync.Mutex
		closed  bool
		order   []*heldChange             // by due
		waiting map[types.UID]*heldChange // those of order that still count
		told    map[types.UID]string      // messages given to the status writer
		next    time.Time                 // of the next write, by the budget
	}
}

// heldChange is a message to write, or the removal of one if the message is empty.
type heldChange struct {
	uid     types.UID
	name    types.NamespacedName
	message string
	due     time.Time
	renewed bool // it is due later than when it was put into the order
}

func newHeldPods(c *Cluster, writes int) *heldPods {
	h := &heldPods{cluster: c, every: time.Second / time.Duration(writes), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	h.mu.waiting, h.mu.told = make(map[types.UID]*heldChange), make(map[types.UID]string)
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	go h.run(ctx)
	return h
}

// Gated is told which plugin holds a pod back and why; by is empty if none does. It is called on the loop.
func (c *Cluster) Gated(pod *state.Pod, by, reason string) {
	if c.held == nil {
		return
	}
	message := ""
	if by != "" && len(pod.Object.Spec.SchedulingGates) == 0 && // the API server tells of these itself
		(c.config.HeldBy == nil || slices.Contains(c.config.HeldBy, by)) {
		message = plain.Lines(by+": "+strings.TrimPrefix(reason, by+": "), report.MaxMessage)
	}
	c.held.set(pod, message)
}

func (h *heldPods) set(pod *state.Pod, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told, known := h.mu.told[pod.UID]
	if !known {
		told = heldMessage(pod.Object)
	}
	change := h.mu.waiting[pod.UID]
	switch {
	case change != nil && change.message != message:
		change.message, change.due, change.renewed = message, h.cluster.deps.Clock.Now().Add(HeldFor), true
	case change == nil && told != message:
		change = &heldChange{
			uid: pod.UID, name: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
			message: message, due: h.cluster.deps.Clock.Now().Add(HeldFor),
		}
		h.mu.order, h.mu.waiting[pod.UID] = append(h.mu.order, change), change
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// heldMessage returns why a pod is held back by its status; empty if it does not say so.
func heldMessage(pod *v1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodScheduled && c.Reason == ReasonHeld {
			return c.Message
		}
	}
	return ""
}

// replaced forgets what was written of a pod, whose condition now tells of a failed attempt. A hold that began since then still waits.
func (h *heldPods) replaced(uid types.UID) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.told[uid] = ""
	if change := h.mu.waiting[uid]; change != nil && change.message == "" {
		delete(h.mu.waiting, uid)
	}
}

// drop forgets a pod that is being bound, is bound or is gone.
func (h *heldPods) drop(uid types.UID) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.waiting, uid)
	delete(h.mu.told, uid)
}

func (h *heldPods) run(ctx context.Context) {
	defer close(h.ended)
	for {
		var reached <-chan struct{}
		stop := func() {}
		if at, ok := h.write(); ok {
			reached, stop = h.cluster.deps.Clock.Until(at)
		}
		select {
		case <-reached:
		case <-h.wake:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// write gives what is due to the status writer, and returns when the next change is due, if one waits. A replica that does not lead
// keeps its changes: it may lead next.
func (h *heldPods) write() (at time.Time, waits bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.mu.order) > 0 && !h.mu.closed {
		change := h.mu.order[0]
		if h.mu.waiting[change.uid] == change {
			now := h.cluster.deps.Clock.Now()
			if change.renewed && change.due.After(now) {
				change.renewed = false
				h.mu.order = append(h.mu.order[1:], change)
				continue
			}
			at = change.due
			if h.mu.next.After(at) {
				at = h.mu.next
			}
			if at.After(now) {
				return at, true
			}
			if h.cluster.deps.Covered() != nil {
				return now.Add(HeldFor), true
			}
			delete(h.mu.waiting, change.uid)
			if h.give(change) {
				h.mu.next = now.Add(h.every)
			}
		}
		h.mu.order[0] = nil
		h.mu.order = h.mu.order[1:]
	}
	return time.Time{}, false
}

// give requests the write of a change, unless the pod's status says the same already. It reports whether it did.
func (h *heldPods) give(change *heldChange) bool {
	pod := h.cluster.Pod(change.name)
	if pod == nil || pod.UID != change.uid || pod.Spec.NodeName != "" {
		return false
	}
	h.mu.told[change.uid] = change.message
	condition := v1.PodCondition{Type: v1.PodScheduled, Reason: ReasonHeld}
	if change.message != "" {
		condition.Status, condition.Message, condition.ObservedGeneration = v1.ConditionFalse, change.message, pod.Generation
	} else {
		delete(h.mu.told, change.uid)
	}
	if heldMessage(h.cluster.status.latest(pod)) == change.message {
		return false
	}
	h.cluster.status.set(pod, condition, nil)
	return true
}

// close ends the writes; what waits is not written.
func (h *heldPods) close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.mu.closed = true
	h.mu.Unlock()
	h.cancel()
	<-h.ended
}
