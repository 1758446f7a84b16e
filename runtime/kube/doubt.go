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

// How long a binding is retried if the API server answers with internal errors, and how long
// after the last request the server may still carry it out, because a slow etcd may have it
// in its log.
const (
	bindPatience = 30 * time.Second
	bindSettles  = 10 * time.Second
)

// bind writes a binding and returns when it knows whether the pod is bound, unless the
// scheduler stops or loses its lease. If an answer gets lost, for example because the API
// server stops or the network fails, the pod may or may not be bound. Another pod in its
// place could then overcommit the node. Writing the binding again is safe because a pod is
// bound only once: if the server refuses the second write, bind looks up the pod's node. A
// known error means that this scheduler did not bind the pod.
func (c *Cluster) bind(ctx context.Context, b objects.Binding, binding *v1.Binding, decided time.Time) (known bool, _ error) {
	w := &bindWrite{cluster: c, Binding: b, object: binding, decided: decided}
	delay := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 2 * time.Second}.DelayFunc()
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (done bool, _ error) {
		// Between two requests, other writers may use the slot.
		ctx, end, err := c.begin(ctx)
		if err != nil {
			if w.last == nil {
				w.last = err
			}
			return true, nil
		}
		defer end()
		return w.try(ctx), nil
	}) // w.last says more than the context's error
	return !w.doubt, w.last
}

// bindWrite is one binding and its attempts.
type bindWrite struct {
	objects.Binding
	cluster *Cluster
	object  *v1.Binding
	decided time.Time // end of PreBind
	last    error
	doubt   bool      // the server may have carried out a request
	sent    time.Time // end of the last request
	lost    time.Time // end of the last request without an answer; zero for none
	errs    time.Time // start of the server's errors; zero for none
}

// try writes the binding again or looks up the pod. It reports whether the outcome is
// known.
func (w *bindWrite) try(ctx context.Context) (done bool) {
	now := w.cluster.deps.Clock.Now
	impatient := !w.errs.IsZero() && now().Sub(w.errs) >= bindPatience
	if !impatient {
		if w.last = w.ready(ctx); w.last != nil {
			return !w.doubt
		}
		ctx := paid(ctx)
		w.last = w.cluster.deps.Client.CoreV1().Pods(w.Pod.Namespace).Bind(ctx, w.object, metav1.CreateOptions{})
		w.sent = now()
	}
	where := unbound
	switch {
	case w.last == nil:
		where = here
	case errors.Is(w.last, ErrLeaseLost):
		w.doubt = true // the next leader will look up the pod
		return true
	case apierrors.IsConflict(w.last): // maybe with an earlier request, which client-go repeated
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

// whereabouts is where a pod is, as the API server says.
type whereabouts int

const (
	unknown whereabouts = iota
	unbound
	here      // on the node of the binding
	elsewhere // or gone
)

// look asks the API server where the pod is.
func (w *bindWrite) look(ctx context.Context) whereabouts {
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

// unanswered reports whether a write may have been carried out despite an error: the API
// server did not answer, or its storage did not answer it.
func unanswered(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

// notYet reports whether an API server that has just begun may answer so: it does not
// know the rules yet, or many come at once.
func notYet(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err)
}
