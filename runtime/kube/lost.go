package kube

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// loss is why a kind is not watched.
type loss uint8

// The losses. Each is logged once until the kind is watched again.
const (
	failing loss = 1 << iota // the API server does not answer, or with another error
	forbidden
	absent // the API server does not have the kind
)

// failed records a failed list or watch, and logs the first of each loss. The informer itself retries with
// growing pauses. Watches that end or are too old are normal. An optional kind that the API server does not have is
// listed again and again, too, because it may be enabled later, or come with an upgrade of the API server. The objects of a kind
// that goes stay, as in kube-scheduler: while API servers of two versions run side by side, the kind comes and goes from request to
// request, and without claims, for instance, devices in use would look free.
func (w *watches) failed(k *kind, err error) {
	why := failing
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || utilnet.IsProbableEOF(err):
		return
	case apierrors.IsForbidden(err):
		why = forbidden
		err = fmt.Errorf("%w (the scheduler's user needs list and watch on %s)", err, k.name)
	}
	if k.optional != nil && w.lacks(k, err) {
		why = absent
	}
	mute := why != absent && (errors.Is(err, ErrLeaseLost) || w.cluster.deps.Reach.Says(err)) // without the lease this replica is about to end
	k.mu.Lock()
	begins, known := k.mu.err == nil, k.mu.logged&why != 0
	k.mu.err, k.mu.absent, k.mu.failed = err, why == absent, w.cluster.deps.Clock.Now()
	if !mute {
		k.mu.logged |= why
	}
	k.mu.Unlock()
	if begins {
		version := k.informer.LastSyncResourceVersion()
		w.waiting.Go(func() { w.returns(k, version) })
	}
	switch {
	case known, mute:
	case why == absent && k.informer.HasSynced():
		w.cluster.log.Warn("the API server no longer has this kind; its objects count as they were last seen until it has the kind again, or "+
			"until Berth is restarted: then "+k.without, "resource", k.name)
	case why == absent:
		w.cluster.log.Warn("the API server does not have this kind; "+k.without, "resource", k.name)
	default:
		w.cluster.log.Error("cannot watch the cluster; retrying", "resource", k.name, "error", err)
	}
}

// lacks reports whether the API server does not have an optional kind. It asks the server: whether a user may list a
// kind is decided before whether there is one, so that the error of a list may hide that there is none.
func (w *watches) lacks(k *kind, err error) bool {
	if apierrors.IsNotFound(err) {
		return true
	}
	if !apierrors.IsForbidden(err) {
		return false
	}
	served, err := w.cluster.deps.Client.Discovery().ServerResourcesForGroupVersion(resourcev1.SchemeGroupVersion.String())
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	plural, _, _ := strings.Cut(k.name, ".")
	return !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == plural })
}

const (
	// returnedEvery is how often a kind that cannot be watched is looked at.
	returnedEvery = time.Second
	// returnedAfter is how long nothing must have failed for a kind to be watched again. Informers pause for at most a minute,
	// and forget failures after two.
	returnedAfter = 2 * time.Minute
)

// returns waits until a kind is watched again, and logs that. The version of its last list is another one then, unless none
// of its objects has changed: in that case no further failure tells of it. A kind that can be listed but not watched has
// other versions, too.
func (w *watches) returns(k *kind, version string) {
	for w.cluster.deps.Requests.watchFailing(k.name) > 0 || k.informer.LastSyncResourceVersion() == version && !w.quiet(k) {
		reached, stop := w.cluster.deps.Clock.Until(w.cluster.deps.Clock.Now().Add(returnedEvery))
		select {
		case <-w.ended:
			stop()
			return
		case <-reached:
		}
	}
	k.mu.Lock()
	k.mu.err, k.mu.absent, k.mu.logged = nil, false, 0
	k.mu.Unlock()
	w.cluster.log.Info("the kind is watched again", "resource", k.name)
}

// quiet reports whether a kind that was listed at some time has not failed for so long that it must be watched. While the API
// server cannot be reached at all, informers repeat watches without a word.
func (w *watches) quiet(k *kind) bool {
	k.mu.Lock()
	failed := k.mu.failed
	k.mu.Unlock()
	return k.informer.HasSynced() && w.cluster.deps.Clock.Now().Sub(failed) >= returnedAfter && w.cluster.deps.Reach.outage().kind == ""
}
