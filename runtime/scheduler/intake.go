package scheduler

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// SetNode adds or updates a node.
func (s *Scheduler) SetNode(node *state.Node) {
	if !s.held(node.Object, nil) {
		s.post(&inbox.Node{Node: node})
	}
}

// DeleteNode removes a node.
func (s *Scheduler) DeleteNode(name string) { s.post(&inbox.NodeGone{Name: name}) }

// SetNamespace adds or updates a namespace. kube-scheduler has no cluster event for namespaces
// (k8s.io/kube-scheduler/framework, EventResource); Berth raises one when a namespace is new, is
// deleted, or its labels changed, so that pods that were rejected because of them need not wait
// for the flush of leftovers.
func (s *Scheduler) SetNamespace(namespace *state.Namespace) {
	s.post(&inbox.Namespace{Namespace: namespace})
}

// DeleteNamespace removes a namespace. Its pods stay until they are deleted.
func (s *Scheduler) DeleteNamespace(name string) {
	s.post(&inbox.NamespaceGone{Name: name})
}

// SetPods adds or updates pods, bound or not. New unbound pods are gated in one call.
func (s *Scheduler) SetPods(pods ...*state.Pod) {
	if s.deps.Suspects.Panics() > 0 {
		pods = slices.DeleteFunc(slices.Clone(pods), func(pod *state.Pod) bool { return s.held(pod.Object, pod) })
	}
	if len(pods) > 0 {
		s.postPods(pods)
	}
}

// DeletePod removes a pod.
func (s *Scheduler) DeletePod(uid types.UID) { s.post(&inbox.PodGone{UID: uid}) }

// Namespace returns a namespace; nil if its object is unknown. Only plugins that the loop calls
// may use it.
func (s *Scheduler) Namespace(name string) *state.Namespace {
	namespace, _ := s.cache.Namespace(name)
	return namespace
}

// Event reports a change of another kind of object, which Deps.Objects does not keep.
func (s *Scheduler) Event(event state.ClusterEvent, object state.Object) {
	s.post(&inbox.Raise{Event: event, Object: object})
}

// SetObject adds or updates an object of another kind in Deps.Objects, between two attempts.
func (s *Scheduler) SetObject(object metav1.Object) {
	if !s.held(object, nil) {
		s.post(&inbox.Object{Object: object})
	}
}

// DeleteObject removes such an object.
func (s *Scheduler) DeleteObject(object metav1.Object) { s.post(&inbox.ObjectGone{Object: object}) }

// Written reports what the API server answered to a request about a resource claim.
func (s *Scheduler) Written(claim *resourcev1.ResourceClaim) { s.post(&inbox.Written{Claim: claim}) }

// SetFeeds takes in what has changed of feeds. They are not changed afterwards.
func (s *Scheduler) SetFeeds(changed []state.Feed) { s.post(&inbox.Feeds{Changed: changed}) }

// FeedState returns whether a feed has fresh values: abi.FeedFresh if it has one for any node or label's value, abi.FeedStale if it has
// stale ones only, abi.FeedNone if it has none. Only plugins that the loop calls may use it.
func (s *Scheduler) FeedState(name string) uint8 { return s.cache.FeedState(name) }

// Activate moves parked pods to the active queue. It ignores pods that are unknown or not
// parked.
func (s *Scheduler) Activate(uids ...types.UID) { s.post(&inbox.Activate{UIDs: uids}) }

// move tells the queue about an event, whose handling took a time so far.
func (s *Scheduler) move(event state.ClusterEvent, object state.Object, within time.Duration) {
	watch := clock.Start()
	s.queue.Move(event, object, nil)
	s.handled(event, within+watch.Elapsed())
}

func (s *Scheduler) handled(event state.ClusterEvent, took time.Duration) {
	if s.deps.Handled != nil {
		s.safely(plugin.InWrite, "the report of an event", func() { s.deps.Handled(event, took) })
	}
}

func (s *Scheduler) setNode(node *state.Node) {
	watch := clock.Start()
	old := s.node(node.Name)
	s.cache.AddNode(node)
	took := watch.Elapsed()
	if old == nil {
		s.move(state.ClusterEvent{Resource: state.NodeResource, Action: state.Add}, state.Object{NewNode: node}, took)
		return
	}
	for _, event := range node.Changes(old) {
		s.move(event, state.Object{OldNode: old, NewNode: node}, took)
	}
}

func (s *Scheduler) setNamespace(namespace *state.Namespace) {
	watch := clock.Start()
	old, known := s.cache.Namespace(namespace.Name)
	s.cache.AddNamespace(namespace)
	event := state.ClusterEvent{Resource: state.NamespaceResource, Action: state.Add}
	object := state.Object{New: namespace.Object}
	if known {
		if maps.Equal(old.Labels, namespace.Labels) {
			return
		}
		event.Action, object.Old = state.UpdateOther|state.UpdateNamespaceLabel, old.Object
	}
	s.reorder(namespace.Name)
	s.move(event, object, watch.Elapsed())
}

func (s *Scheduler) deleteNamespace(name string) {
	watch := clock.Start()
	delete(s.hinted, name)
	if old, known := s.cache.RemoveNamespace(name); known {
		s.reorder(name)
		s.move(state.ClusterEvent{Resource: state.NamespaceResource, Action: state.Delete}, state.Object{Old: old.Object}, watch.Elapsed())
	}
}

// reorder makes the queue keys of the pods of a namespace again, if they depend on its labels.
func (s *Scheduler) reorder(namespace string) {
	reads := s.deps.Pipelines[0].QueueSort().Info().Reads
	if slices.ContainsFunc(reads, func(r plugin.Read) bool { return r.Column == abi.IncomingNamespaceLabels }) {
		s.queue.Rebuild(func(pod *state.Pod) bool { return pod.Namespace == namespace })
	}
}

func (s *Scheduler) deleteNode(name string) {
	old := s.node(name)
	if old == nil {
		return
	}
	s.move(state.ClusterEvent{Resource: state.NodeResource, Action: state.Delete}, state.Object{OldNode: old}, 0)
	s.cache.RemoveNode(name)
}

func (s *Scheduler) setFeeds(changed []state.Feed) {
	watch := clock.Start()
	if s.cache.SetFeeds(changed...) {
		s.move(state.EventFeed(), state.Object{}, watch.Elapsed())
	}
}

func (s *Scheduler) node(name string) *state.Node {
	if info, ok := s.cache.Node(name); ok {
		return info.Node
	}
	return nil
}

func (s *Scheduler) setPods(pods []*state.Pod) {
	var fresh []*state.Pod
	isFresh := make(map[types.UID]bool)
	for _, pod := range pods {
		// After a panic of the loop pods are added one by one, to find the one that caused it.
		if isFresh[pod.UID] || len(fresh) > 0 && s.deps.Suspects.Panics() > 0 { // a second version of the pod, which may be bound
			s.add(fresh)
			fresh = nil
			clear(isFresh)
		}
		s.subject = pod.Object
		switch {
		case finished(pod):
			s.deletePod(pod.UID)
		case pod.NodeName() != "":
			s.setBoundPod(pod)
		case s.pipelines[pod.Profile] == nil:
			s.leave(pod.UID)
		case !s.queue.Has(pod.UID) && !s.cache.IsAssumed(pod.UID):
			fresh = append(fresh, pod)
			if len(pods) > 1 {
				isFresh[pod.UID] = true
			}
		default:
			s.updatePod(pod)
		}
	}
	if len(fresh) > 0 {
		s.add(fresh)
	}
}

// add adds new unbound pods. The time that it takes is divided equally among their events.
func (s *Scheduler) add(pods []*state.Pod) {
	if s.subject = nil; len(pods) == 1 {
		s.subject = pods[0].Object
	}
	for _, pod := range pods {
		if pod.NominatedNode() != "" {
			s.inherit(pod)
		}
	}
	watch := clock.Start()
	s.queue.Add(pods...)
	took := watch.Elapsed() / time.Duration(len(pods))
	for range pods {
		s.handled(state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Add}, took)
	}
}

// finished reports whether a pod no longer uses resources of its node.
func finished(pod *state.Pod) bool {
	phase := pod.Object.Status.Phase
	return phase == v1.PodSucceeded || phase == v1.PodFailed
}

// setBoundPod adds a pod on a node to the cache; if the pod was assumed, this confirms it. A pod whose resize is deferred is
// queued, too.
func (s *Scheduler) setBoundPod(pod *state.Pod) {
	p := s.pipelines[pod.Profile]
	resizes := p != nil && p.Resizes(pod)
	if !resizes || !s.resizing(pod.UID) {
		s.budgets.Return(string(pod.UID))
		s.leave(pod.UID)
	}
	s.pay(pod)
	s.reject(pod.UID, plugin.NewStatus(abi.Unschedulable, "pod was bound by another scheduler while it waited"))
	if s.cacheBound(pod) && resizes {
		s.setResize(pod)
	}
}

// cacheBound is setBoundPod for the cache. It reports whether the cache has the pod now.
func (s *Scheduler) cacheBound(pod *state.Pod) bool {
	old, known := s.cache.Get(pod.UID)
	if known && !s.cache.IsAssumed(pod.UID) {
		watch := clock.Start()
		if _, err := s.cache.UpdatePod(old, pod); err != nil {
			s.deps.Log.Error("ignoring invalid pod update", "pod", pod.Key(), "error", err)
			return false
		}
		s.podChanged(old, pod, watch.Elapsed())
		return true
	}
	watch := clock.Start()
	change, err := s.cache.AddPod(pod)
	if err != nil {
		s.deps.Log.Error("ignoring invalid bound pod", "pod", pod.Key(), "error", err)
		return false
	}
	if change.Confirmed {
		s.unassumed(pod)
	}
	if change.Replaced != nil {
		s.queue.Move(state.EventAssignedPodDelete(), state.Object{OldPod: change.Replaced}, nil)
	}
	s.move(state.EventAssignedPodAdd(), state.Object{NewPod: pod}, watch.Elapsed())
	if change.Confirmed && (len(change.Differences) > 0 || change.MovedFrom != "") {
		// It is normal that others and PreBind plugins patch the pod. A lost reservation or
		// another node is not.
		level := slog.LevelDebug
		if change.MovedFrom != "" || slices.ContainsFunc(change.Differences, func(d cache.Difference) bool { return d.Patched }) {
			s.totals.reconciled++
			level = slog.LevelWarn
		}
		s.deps.Log.Log(context.Background(), level, "pod was bound differently than assumed", "pod", pod.Key(), "node", pod.NodeName(),
			"assumedNode", change.MovedFrom, "differences", change.Differences)
		s.podChanged(change.Previous, pod, 0)
	}
	return true
}

// podChanged raises the events for a change of a bound pod, whose handling took a time so far.
func (s *Scheduler) podChanged(old, pod *state.Pod, within time.Duration) {
	for _, event := range pod.Changes(old, state.AssignedPodResource) {
		s.move(event, state.Object{OldPod: old, NewPod: pod}, within)
	}
}

// updatePod handles a new version of a known unbound pod.
func (s *Scheduler) updatePod(pod *state.Pod) {
	queued, _ := s.queue.Get(pod.UID)
	if queued == nil {
		return
	}
	old := queued.Pod
	if v := pod.Object.ResourceVersion; v != "" && v == old.Object.ResourceVersion {
		return
	}
	// A nomination that this loop did not make was made by another replica that led.
	now := pod.NominatedNode()
	if now != "" && now != old.NominatedNode() && now != s.queue.NominatedNode(pod.UID) && !s.cache.IsAssumed(pod.UID) {
		s.inherit(pod)
	}
	watch := clock.Start()
	s.queue.Update(nil, pod)
	s.handled(state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Update}, watch.Elapsed())
	if s.cache.IsAssumed(pod.UID) {
		if pod.Object.DeletionTimestamp != nil {
			s.abandon(pod.UID)
		}
		return
	}
	s.recheck(pod.UID)
	if was := old.NominatedNode(); was != "" && was != pod.NominatedNode() {
		s.unnominated(old)
	}
}

func (s *Scheduler) deletePod(uid types.UID) {
	if s.cache.IsAssumed(uid) {
		s.leave(uid)
		s.abandon(uid)
		return
	}
	s.drop(uid)
	if old, ok := s.cache.Get(uid); ok {
		watch := clock.Start()
		s.cache.RemovePod(uid)
		s.move(state.EventAssignedPodDelete(), state.Object{OldPod: old}, watch.Elapsed())
	}
}

// drop removes a pod from the queue. If it had a nominated node, others were planned as if it
// were there.
func (s *Scheduler) drop(uid types.UID) {
	queued, _ := s.queue.Get(uid)
	s.leave(uid)
	s.debts.Gone(string(uid))
	if queued != nil && queued.Pod.NominatedNode() != "" {
		s.unnominated(queued.Pod)
	}
}

// unnominated tells the queue that a pod is no longer expected on its nominated node. Pods of
// higher priority never waited for it.
func (s *Scheduler) unnominated(pod *state.Pod) {
	s.queue.Move(state.EventAssignedPodDelete(), state.Object{OldPod: pod},
		func(p *state.Pod) bool { return p.Priority <= pod.Priority })
}
