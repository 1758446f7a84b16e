package bridge_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// loop is a scheduler that records what it is asked to do.
type loop struct {
	waiting []plugin.WaitingPod
	asked   []string
}

func (l *loop) WaitingPods() []plugin.WaitingPod { return l.waiting }
func (l *loop) AllowWaiting(uid types.UID, plugin string) {
	l.asked = append(l.asked, text("allow %s for %s", uid, plugin))
}
func (l *loop) RejectWaiting(uid types.UID, by, reason string) {
	l.asked = append(l.asked, text("reject %s by %s: %s", uid, by, reason))
	l.waiting = slices.DeleteFunc(l.waiting, func(w plugin.WaitingPod) bool { return w.Pod.UID == uid })
}
func (l *loop) Activate(uids ...types.UID) { l.asked = append(l.asked, text("activate %v", uids)) }

func handle(t *testing.T, deps bridge.Deps) (framework.Handle, *bridge.Plugin) {
	p, h := host(t, bridge.New(bridge.Config{Profile: "default"}, deps), func(framework.Handle) framework.Plugin { return watcher{"W"} })
	return h, p
}

func TestWaitingPods(t *testing.T) {
	l := &loop{}
	for _, name := range []string{"p", "q"} {
		l.waiting = append(l.waiting, plugin.WaitingPod{Pod: state.NewPod(pod(name)), Plugins: []string{"A", "B"}})
	}
	h, _ := handle(t, bridge.Deps{Scheduler: func() plugin.Loop { return l }})
	var names []string
	h.IterateOverWaitingPods(func(w framework.WaitingPod) {
		names = append(names, text("%s for %v", w.GetPod().Name, w.GetPendingPlugins()))
	})
	check(t, "waiting", names, "[p for [A B] q for [A B]]")
	if h.GetWaitingPod("nobody") != nil || h.RejectWaitingPod("nobody") {
		t.Error("found a waiting pod that is not waiting")
	}
	p := h.GetWaitingPod("p")
	p.Allow("A")
	check(t, "reject", text("%v %v", p.Reject("B", "no quorum"), p.Reject("B", "again")), "true false")
	check(t, "preempt", h.GetWaitingPod("q").Preempt("B", "preempted"), true)
	check(t, "gone", h.RejectWaitingPod("q"), false)
	h.Activate(klog.Background(), map[string]*v1.Pod{"ns/z": pod("z"), "ns/y": pod("y")})
	h.Activate(klog.Background(), nil)
	check(t, "asked", l.asked, "[allow p for A reject p by B: no quorum reject p by B: again reject q by B: preempted activate [y z]]")
}

// nominations is a view of nominated pods, by node.
type nominations map[string][]*state.Pod

func (n nominations) Len() int { return len(n) }
func (n nominations) Nodes(yield func(string, []*state.Pod) bool) {
	for node, pods := range n {
		if !yield(node, pods) {
			return
		}
	}
}

func TestNominations(t *testing.T) {
	h, p := handle(t, bridge.Deps{})
	if pods := h.NominatedPodsForNode("a"); pods != nil {
		t.Errorf("before any cycle: %v", pods)
	}
	w := newWorld(node("a"))
	c := w.cycle(pod("incoming"))
	c.Nominations = nominations{"a": {state.NewPod(pod("x")), state.NewPod(pod("y"))}, "b": {state.NewPod(pod("z"))}}
	p.PreFilter(c)
	check(t, "nominated", podNames(h.NominatedPodsForNode("a")), "[x y]")
	h.AddNominatedPod(klog.Background(), infoOfPod(t, pod("v")), nil)
	h.UpdateNominatedPod(klog.Background(), pod("x"), infoOfPod(t, pod("v")))
	h.DeleteNominatedPodIfExists(pod("x"))
	check(t, "a plugin changed the nominations", podNames(h.NominatedPodsForNode("a")), "[x y]")
}

// TestDefaults: with empty Deps, a plugin sees an empty cluster, and no method panics.
func TestDefaults(t *testing.T) {
	h, p := handle(t, bridge.Deps{})
	core := h.SharedInformerFactory().Core().V1()
	core.Pods().Informer().HasSynced()
	namespaces, err := core.Namespaces().Lister().List(labels.Everything())
	if err != nil || len(namespaces) > 0 {
		t.Errorf("namespaces %v, %v", namespaces, err)
	}
	if nodes, err := h.SharedCSIManager().CSINodes().List(); err != nil || len(nodes) > 0 {
		t.Errorf("CSI nodes %v, %v", nodes, err)
	}
	if _, err := h.SharedCSIManager().CSINodes().Get("a"); err == nil {
		t.Error("a CSI node was found")
	}
	h.EventRecorder().WithLogger(klog.Background()).Eventf(pod("p"), nil, "Normal", "Reason", "Action", "note")
	if _, err := h.SnapshotSharedLister().PodGroupStates().Get("ns", "group"); err == nil {
		t.Error("a pod group was found")
	}
	if _, err := h.SnapshotSharedLister().PodGroups().Get("ns", "group"); err == nil {
		t.Error("a pod group was found")
	}
	if _, err := h.SnapshotSharedLister().CompositePodGroups().Get("ns", "group"); err == nil {
		t.Error("a composite pod group was found")
	}
	if _, err := h.SnapshotSharedLister().CompositePodGroupStates().Get("ns", "group"); err == nil {
		t.Error("the state of a composite pod group was found")
	}
	mutable := h.MutableSnapshotSharedLister()
	for name, err := range map[string]error{
		"StartMutations": mutable.StartMutations(), "EndMutations": mutable.EndMutations(),
		"AddPod": mutable.AddPod(nil, "a"), "RemovePod": mutable.RemovePod(klog.Background(), pod("p"), "a"),
		"RunReservePluginsReserve": h.RunReservePluginsReserve(context.Background(), nil, pod("p"), "a").AsError(),
	} {
		if err == nil {
			t.Errorf("%s succeeds", name)
		}
	}
	h.RunReservePluginsUnreserve(context.Background(), nil, pod("p"), "a")
	if nodes, err := h.SnapshotSharedLister().NodeInfos().List(); err != nil || len(nodes) > 0 {
		t.Errorf("nodes before any cycle: %v, %v", nodes, err)
	}
	if _, err := h.SnapshotSharedLister().NodeInfos().Get("a"); err == nil {
		t.Error("a node was found before any cycle")
	}
	if h.GetWaitingPod("p") != nil || h.RejectWaitingPod("p") || h.GetPodInPreBind("p") != nil {
		t.Error("found a waiting pod without a scheduler")
	}
	h.IterateOverWaitingPods(func(framework.WaitingPod) { t.Error("a pod waits") })
	h.Activate(klog.Background(), map[string]*v1.Pod{"ns/p": pod("p")})
	for name, client := range map[string]kubernetes.Interface{"ClientSet": h.ClientSet(), "KubeConfig": kubernetes.NewForConfigOrDie(h.KubeConfig())} {
		if _, err := client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), "no API server is connected") {
			t.Errorf("%s reached a server: %v", name, err)
		}
	}
	check(t, "absent", text("%v %v %v %v %v", h.SharedDRAManager(), h.APIDispatcher(), h.APICacher(), h.PodGroupManager(), h.Extenders()),
		"<nil> <nil> <nil> <nil> []")
	if h.SignPod(context.Background(), pod("p")) != nil {
		t.Error("a pod has a signature")
	}
	check(t, "profile", h.ProfileName(), "default")
	var calls atomic.Int64
	h.Parallelizer().Until(context.Background(), 1000, func(int) { calls.Add(1) }, "test")
	if calls.Load() != 1000 {
		t.Errorf("%d of 1000 pieces", calls.Load())
	}
	p.PreFilter(newWorld(node("a")).cycle(pod("incoming")))
	if _, err := h.SnapshotSharedLister().NodeInfos().Get("a"); err != nil {
		t.Error(err)
	}
}

// TestIndexers: plugins that are made again add their indexers of pods again.
func TestIndexers(t *testing.T) {
	h, _ := handle(t, bridge.Deps{})
	pods := h.SharedInformerFactory().Core().V1().Pods()
	index := func(any) ([]string, error) { return nil, nil }
	for _, name := range []string{"a", "a", "b"} {
		if err := pods.Informer().AddIndexers(cache.Indexers{name: index, "common": index}); err != nil {
			t.Error(err)
		}
	}
	if has := pods.Informer().GetIndexer().GetIndexers(); has["a"] == nil || has["b"] == nil || has["common"] == nil {
		t.Errorf("the indexers are %v", has)
	}
}

func TestPodInPreBind(t *testing.T) {
	h, _ := handle(t, bridge.Deps{})
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	h.AddPodInPreBind("p", cancel)
	p := h.GetPodInPreBind("p")
	check(t, "cancelled", text("%v %v %v", p.CancelPod("one"), p.CancelPod("two"), p.MarkPrebound()), "true true false")
	check(t, "cause", context.Cause(ctx), "one")
	h.AddPodInPreBind("q", cancel)
	q := h.GetPodInPreBind("q")
	check(t, "passed", text("%v %v", q.MarkPrebound(), q.CancelPod("late")), "true false")
	h.RemovePodInPreBind("q")
	if h.GetPodInPreBind("q") != nil {
		t.Error("the pod is still there")
	}
}

// sorter records what the queue reports about a pod.
type sorter struct {
	named
	seen *string
}

func (s sorter) Less(a, _ framework.QueuedEntityInfo) bool {
	*s.seen = text("%s %s of priority %d at %v, %d attempts, backoff %v, %d unschedulable, %d errors, first %v, by %v, pending %v, gated by %q %v",
		a.Type(), queuedName(a), a.GetPriority(), a.GetTimestamp().Unix(), a.GetAttempts(), a.GetBackoffExpiration().Unix(), a.GetUnschedulableCount(),
		a.GetConsecutiveErrorsCount(), a.GetInitialAttemptTimestamp(), a.GetUnschedulablePlugins().UnsortedList(),
		a.GetPendingPlugins().UnsortedList(), a.GetGatingPlugin(), a.GetGatingPluginEvents())
	return true
}

func TestQueuedPods(t *testing.T) {
	var seen string
	p, _ := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return sorter{"S", &seen} })
	q := &state.QueuedPod{
		Pod: state.NewPod(pod("p")), Timestamp: time.Unix(5, 0), Attempts: 3, BackoffUntil: time.Unix(9, 0), Unschedulable: 2, Errors: 1,
		Rejectors: []string{"A"}, Pending: []string{"B"}, GatedBy: "G",
	}
	p.Less(q, q)
	check(t, "queued pod", seen, `pod p of priority 0 at 5, 3 attempts, backoff 9, 2 unschedulable, 1 errors, first <nil>, by [A], pending [B], gated by "G" []`)
	q.InitialAttempt = time.Unix(4, 0).UTC()
	p.Less(q, q)
	check(t, "first attempt", seen, `pod p of priority 0 at 5, 3 attempts, backoff 9, 2 unschedulable, 1 errors, first 1970-01-01 00:00:04 +0000 UTC, by [A], pending [B], gated by "G" []`)
}

func TestCycleState(t *testing.T) {
	e, p := hostEverything(t, bridge.Deps{})
	w := newWorld(node("a"))
	c := w.cycle(pod("incoming"))
	var cs framework.CycleState
	e.during = func() {}
	e.status = framework.NewStatus(framework.Skip)
	p.PreFilter(c)
	// Another plugin of the bridge reads what the first one wrote, and its Skip.
	second, _ := host(t, bridge.New(bridge.Config{Profile: "default"}, bridge.Deps{}), func(framework.Handle) framework.Plugin {
		return stateReader{"R", &cs}
	})
	second.PreFilter(c)
	if cs == nil || read(cs) != "of incoming" || !cs.GetSkipFilterPlugins().Has("E") {
		t.Fatalf("state %v", cs)
	}
	clone := cs.Clone()
	clone.Write("kept", kept("another"))
	clone.Write("more", kept("more"))
	check(t, "a clone is its own", text("%s %s", read(cs), read(clone)), "of incoming another")
	clone.Delete("more")
	if _, err := clone.Read("more"); err != framework.ErrNotFound { //nolint:errorlint // the framework returns it as it is
		t.Errorf("error %v", err)
	}
	for _, set := range []struct {
		put func(nameSet)
		get func() nameSet
	}{
		{cs.SetSkipFilterPlugins, cs.GetSkipFilterPlugins}, {cs.SetSkipScorePlugins, cs.GetSkipScorePlugins},
		{cs.SetSkipPreBindPlugins, cs.GetSkipPreBindPlugins}, {cs.SetParallelPreBindPlugins, cs.GetParallelPreBindPlugins},
	} {
		set.put(nameSet{"X": {}})
		check(t, "names", set.get(), nameSet{"X": {}})
	}
	check(t, "a clone's names", clone.GetSkipScorePlugins(), nameSet(nil))
	if cs.ShouldRecordPluginMetrics() || cs.ShouldSkipAllPostFilterPlugins() || cs.IsPodGroupSchedulingCycle() || cs.GetPodGroupSchedulingCycle() != nil ||
		cs.GetPlacementCycleState() != nil {
		t.Error("a state reports what Berth does not support")
	}
}

type stateReader struct {
	named
	seen *framework.CycleState
}

func (r stateReader) PreFilter(_ context.Context, s framework.CycleState, _ *v1.Pod, _ []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	*r.seen = s
	return nil, nil
}
func (stateReader) PreFilterExtensions() framework.PreFilterExtensions { return nil }
