package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// How often a failed status write is repeated, and the time between repeats. Then the write is
// dropped; the pod's next scheduling attempt writes a newer status.
const (
	statusRepeats    = 12
	statusFirstPause = 50 * time.Millisecond
	statusLastPause  = 10 * time.Second
)

// statusWriter writes the status of pods beside the loop. A pod has at most one pending
// write: later changes are merged into it, and the newer value wins. A pod that is bound
// or gone has no write.
type statusWriter struct {
	deps  *Deps
	queue workqueue.TypedRateLimitingInterface[types.UID]
	group sync.WaitGroup
	// context of the writes; cancelled when close stops waiting.
	context context.Context
	cancel  context.CancelFunc

	mu struct {
		sync.Mutex
		wanted map[types.UID]*statusWrite
		// written is what the server has answered to the last write of a pod that the
		// watch may not have told of yet.
		written map[types.UID]*v1.Pod
		sending map[types.UID]*sending
	}
}

// sending is a write that is on its way.
type sending struct {
	ended   chan struct{}
	dropped bool // of a pod that is bound or gone
}

// statusWrite is a pod's new status. It is immutable once it is in the table.
type statusWrite struct {
	pod       *v1.Pod
	condition v1.PodCondition // none without a type; see conditionPatch
	nominated *string         // nil leaves it unchanged
}

func newStatusWriter(workers int, deps *Deps) *statusWriter {
	w := &statusWriter{
		deps: deps,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](statusFirstPause, statusLastPause)),
	}
	w.context, w.cancel = context.WithCancel(context.Background())
	w.mu.wanted, w.mu.written = make(map[types.UID]*statusWrite), make(map[types.UID]*v1.Pod)
	w.mu.sending = make(map[types.UID]*sending)
	for range workers {
		w.group.Go(w.work)
	}
	return w
}

// set requests a write. A condition without a type and a nil nominated keep the values of
// an earlier pending write.
func (w *statusWriter) set(pod *v1.Pod, condition v1.PodCondition, nominated *string) {
	next := &statusWrite{pod: pod, condition: condition, nominated: nominated}
	w.mu.Lock()
	if last := w.mu.wanted[pod.UID]; last != nil {
		if condition.Type == "" {
			next.condition = last.condition
		}
		if nominated == nil {
			next.nominated = last.nominated
		}
	}
	w.mu.wanted[pod.UID] = next
	waits := w.queue.NumRequeues(pod.UID) > 0 // for a retry, which will make this write
	w.mu.Unlock()
	if !waits {
		w.queue.Add(pod.UID)
	}
}

// supersede drops the pending write of a pod that is about to be bound, and waits for a
// write in flight. A condition that arrives after the binding would mark a bound pod as
// unschedulable.
//
// # Errors
//
// ctx has ended first.
func (w *statusWriter) supersede(ctx context.Context, uid types.UID) error {
	w.mu.Lock()
	delete(w.mu.wanted, uid)
	sent := w.mu.sending[uid]
	w.mu.Unlock()
	if sent == nil {
		return nil
	}
	select {
	case <-sent.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cancelled while the pod's status was written: %w", context.Cause(ctx))
	}
}

// drop forgets a pod that is bound or gone.
func (w *statusWriter) drop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.wanted, uid)
	delete(w.mu.written, uid)
	if sent := w.mu.sending[uid]; sent != nil {
		sent.dropped = true
	}
}

// latest returns the newer version of a pod: from the watch, or from the answer to the last
// write.
func (w *statusWriter) latest(pod *v1.Pod) *v1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := w.mu.written[pod.UID]
	if written == nil {
		return pod
	}
	if order, err := resourceversion.CompareResourceVersion(written.ResourceVersion, pod.ResourceVersion); err == nil && order > 0 {
		return written
	}
	delete(w.mu.written, pod.UID)
	return pod
}

// pending returns the number of pods with a pending write.
func (w *statusWriter) pending() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.mu.wanted)
}

func (w *statusWriter) work() {
	for {
		uid, over := w.queue.Get()
		if over {
			return
		}
		w.write(uid)
		w.queue.Done(uid)
	}
}

func (w *statusWriter) write(uid types.UID) {
	sent := &sending{ended: make(chan struct{})}
	w.mu.Lock()
	s := w.mu.wanted[uid]
	w.mu.sending[uid] = sent
	w.mu.Unlock()
	var now *v1.Pod
	var err error
	if s != nil {
		if caught := w.deps.guard(plugin.InWrite, "the status of pod "+s.pod.Namespace+"/"+s.pod.Name, func() {
			w.deps.fault("status", s.pod.Namespace+"/"+s.pod.Name)
			now, err = w.send(s)
		}); caught != nil {
			err = caught
		}
	}
	again := err != nil && worthAnotherTry(err) && w.context.Err() == nil && w.queue.NumRequeues(uid) < statusRepeats
	w.mu.Lock()
	if !again {
		w.queue.Forget(uid)
		if w.mu.wanted[uid] == s {
			delete(w.mu.wanted, uid)
		} else if w.mu.wanted[uid] != nil { // a newer write arrived meanwhile
			w.queue.Add(uid)
		}
	}
	if now != nil && !sent.dropped {
		w.mu.written[uid] = now
	}
	delete(w.mu.sending, uid)
	close(sent.ended)
	w.mu.Unlock()
	switch {
	case again:
		w.queue.AddRateLimited(uid)
		return
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err): // a conflict is about the UID
	case errors.Is(err, ErrLeaseLost): // the next leader writes it
	default:
		w.deps.logFailure("cannot write pod status", "pod", s.pod.Namespace+"/"+s.pod.Name, err)
	}
}

// send makes a write and returns the resulting pod, or nil if there was nothing to write.
func (w *statusWriter) send(s *statusWrite) (*v1.Pod, error) {
	patch, needed := conditionPatch(w.latest(s.pod), s.condition, s.nominated, w.deps.Clock.Now())
	if !needed {
		return nil, nil //nolint:nilnil // as said
	}
	ctx, cancel := context.WithTimeout(w.context, writeTimeout)
	defer cancel()
	watch := clock.Start()
	now, err := w.deps.Client.CoreV1().Pods(s.pod.Namespace).Patch(ctx, s.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	w.deps.wrote("pod_status_patch", watch, err)
	if err != nil {
		return nil, err
	}
	return now, nil
}

// worthAnotherTry reports whether the same write may succeed later. A write that the server
// refuses for its content will be refused again.
func worthAnotherTry(err error) bool {
	var caught *plugin.Panic
	if errors.Is(err, ErrLeaseLost) || errors.As(err, &caught) {
		return false
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonNotFound, metav1.StatusReasonConflict, metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest,
		metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized, metav1.StatusReasonGone:
		return false
	}
	return true
}

// close drops the pending writes, and waits for those in flight until the context ends. The next leader tries these pods again.
func (w *statusWriter) close(ctx context.Context) {
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.mu.Lock()
	dropped := len(w.mu.wanted) - len(w.mu.sending)
	clear(w.mu.wanted)
	w.mu.Unlock()
	w.queue.ShutDown()
	w.group.Wait()
	w.cancel()
	if dropped > 0 {
		w.deps.Log.LogAttrs(ctx, slog.LevelInfo, "pod statuses are left to the next leader", slog.Int("pods", dropped))
	}
}

// PendingWrites returns the number of pods with a pending status write.
func (c *Cluster) PendingWrites() int { return c.status.pending() }
