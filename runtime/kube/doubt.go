package kube

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// For how long a binding is written again that the API server answers with errors of its
// own, and how long after the last time it may still be carried out: an etcd that answers
// too late may have it in its log.
const (
	bindPatience = 30 * time.Second
	bindSettles  = 10 * time.Second
)

// bind writes a binding, and does not end before it is known whether it was made,
// unless the scheduler is told to stop or has lost its lease. When an answer gets lost,
// as when the API server ends or the network is cut, the pod may be bound or not: to
// give its place to another pod would put too much on the node. It is safe to write the
// binding again, for a pod is bound once; and who is refused looks where the pod is. An
// error that is known says that this scheduler has not bound the pod.
func (c *Cluster) bind(ctx context.Context, b objects.Binding, binding *v1.Binding) (known bool, _ error) {
	w := &bindWrite{cluster: c, Binding: b, object: binding}
	delay := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 2 * time.Second}.DelayFunc()
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (done bool, _ error) {
		// Between two requests others may have the turn.
		ctx, end, err := c.begin(ctx)
		if err != nil {
			if w.last == nil {
				w.last = err
			}
			return true, nil
		}
		defer end()
		return w.try(ctx), nil
	}) // w.last says more than that the context has ended
	return !w.doubt, w.last
}

// bindWrite is a binding that is written.
type bindWrite struct {
	objects.Binding
	cluster *Cluster
	object  *v1.Binding
	last    error
	doubt   bool      // a request may have been carried out
	sent    time.Time // when the last request had ended
	lost    time.Time // when the last one had that was not answered; zero for none
	errs    time.Time // since when the server answers with errors; zero if it does not
}

// try writes the binding once more, or looks what has become of it; true if that is
// known.
func (w *bindWrite) try(ctx context.Context) (done bool) {
	now := w.cluster.deps.Clock.Now
	impatient := !w.errs.IsZero() && now().Sub(w.errs) >= bindPatience
	if !impatient {
		w.last = w.cluster.deps.Client.CoreV1().Pods(w.Pod.Namespace).Bind(ctx, w.object, metav1.CreateOptions{})
		w.sent = now()
	}
	where := unbound
	switch {
	case w.last == nil:
		where = here
	case errors.Is(w.last, ErrLeaseLost):
		w.doubt = true // where the pod is concerns the next leader
		return true
	case apierrors.IsConflict(w.last): // maybe with a request before, which client-go has repeated by itself
		where = w.look(ctx)
	case apierrors.ReasonForError(w.last) == metav1.StatusReasonUnknown: // no answer
		where, w.errs, w.lost = unknown, time.Time{}, w.sent
	case unanswered(w.last), w.doubt && notYet(w.last):
		if w.errs.IsZero() {
			w.errs = w.sent
		}
		where = w.look(ctx)
		settled := now().Sub(w.sent) >= bindSettles && now().Sub(w.lost) >= writeTimeout
		if where == unbound && (!impatient || !settled) {
			where = unknown
		}
	}
	if where == here {
		w.last = nil
	}
	w.doubt = where == unknown
	return !w.doubt
}

// place is where a pod is.
type place int

const (
	unknown place = iota
	unbound
	here      // on the node of the binding
	elsewhere // or gone
)

// look asks where the pod is.
func (w *bindWrite) look(ctx context.Context) place {
	now, err := w.cluster.deps.Client.CoreV1().Pods(w.Pod.Namespace).Get(ctx, w.Pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return elsewhere
	case err != nil:
		return unknown
	case now.UID != w.Pod.UID:
		return elsewhere
	case now.Spec.NodeName == "":
		return unbound
	case now.Spec.NodeName == w.Node:
		return here
	}
	return elsewhere
}

// unanswered reports whether a write may have been carried out in spite of an error:
// there was no answer of the API server, or one that it had none of its storage.
func unanswered(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

// notYet reports whether an API server that has just begun may answer so: it does not
// know the rules yet, or many come at once.
func notYet(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err)
}
