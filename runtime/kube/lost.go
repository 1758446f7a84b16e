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

// failed records a failed list or watch, and logs it when it is the first of its kind. The informer itself retries with
// growing pauses. Watches that end or are too old are normal. An optional kind that the API server does not have is
// listed again and again, too, because it may be enabled later.
func (w *watches) failed(k *kind, err error) {
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || utilnet.IsProbableEOF(err):
		return
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w (the scheduler's user needs list and watch on %s)", err, k.name)
	}
	absent := k.optional != nil && w.lacks(k, err)
	k.mu.Lock()
	begins := k.mu.err == nil
	known := !begins && k.mu.absent == absent && (absent || k.mu.err.Error() == err.Error())
	k.mu.err, k.mu.absent = err, absent
	k.mu.Unlock()
	if begins {
		version := k.informer.LastSyncResourceVersion()
		w.waiting.Go(func() { w.returns(k, version) })
	}
	switch {
	case known:
	case absent:
		w.cluster.log.Warn("the API server does not have this kind; "+k.without, "resource", k.name)
	case !errors.Is(err, ErrLeaseLost) && !w.cluster.deps.Reach.Says(err): // without the lease this replica is about to end
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

// returnedEvery is how often a kind that cannot be watched is looked at.
const returnedEvery = time.Second

// returns waits until a kind was listed again, and logs that: the version of its last list is another one then.
func (w *watches) returns(k *kind, version string) {
	for k.informer.LastSyncResourceVersion() == version {
		reached, stop := w.cluster.deps.Clock.Until(w.cluster.deps.Clock.Now().Add(returnedEvery))
		select {
		case <-w.ended:
			stop()
			return
		case <-reached:
		}
	}
	k.mu.Lock()
	k.mu.err, k.mu.absent = nil, false
	k.mu.Unlock()
	w.cluster.log.Info("the kind is watched again", "resource", k.name)
}
