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

// bind writes a binding, and does not end before it is known whether it was made,
// unless the scheduler is told to stop or has lost its lease. When an answer gets lost,
// as when the API server ends or the network is cut, the pod may be bound or not: to
// give its place to another pod would put too much on the node. It is safe to write the
// binding again, for a pod is bound once; and who is refused a second time looks where
// the pod is. An error that is known says that this scheduler has not bound the pod.
func (c *Cluster) bind(ctx context.Context, b objects.Binding, binding *v1.Binding) (known bool, _ error) {
	pods := c.deps.Client.CoreV1().Pods(b.Pod.Namespace)
	doubt := false // whether an earlier try may have been carried out
	var last error
	try := func(context.Context) (done bool, _ error) {
		// A request that is on its way is awaited, whoever tells the scheduler to stop.
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		last = pods.Bind(writing, binding, metav1.CreateOptions{})
		switch {
		case errors.Is(last, ErrLeaseLost): // where the pod is concerns the next leader
			doubt = true
			return true, nil
		case last == nil:
			doubt = false
			return true, nil
		case doubt && apierrors.IsConflict(last):
			now, err := pods.Get(writing, b.Pod.Name, metav1.GetOptions{})
			if err != nil {
				doubt = !apierrors.IsNotFound(err)
				return !doubt, nil
			}
			doubt = false
			if now.UID == b.Pod.UID && now.Spec.NodeName == b.Node {
				last = nil // it was made, by a try without an answer
			}
			return true, nil
		case doubt && (apierrors.IsForbidden(last) || apierrors.IsUnauthorized(last) || apierrors.IsTooManyRequests(last)):
			return false, nil // an API server that has just begun: it does not know the rules yet, or many come at once
		case unanswered(last):
			doubt = true
			return false, nil
		}
		doubt = false
		return true, nil
	}
	delay := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 2 * time.Second}.DelayFunc()
	_ = delay.Until(ctx, true, true, try) // last says more than that the context has ended
	return !doubt, last
}

// unanswered reports whether a write may have been carried out in spite of an error:
// there was no answer of the API server, or one that it had none of its storage.
func unanswered(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}
