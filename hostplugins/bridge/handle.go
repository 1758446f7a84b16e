package bridge

import (
	"context"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Handle implements framework.Handle for hosted plugins. It differs from
// kube-scheduler's in the following:
//   - Nominations belong to the scheduling queue, and only the loop changes them: a
//     plugin nominates through the result of its PostFilter, and the methods of
//     PodNominator that change nominations do nothing.
//   - The profile's filters and AddPod/RemovePod, of native and WASM plugins too,
//     can be run only within PostFilter, where a plugin tries hypothetical
//     placements; elsewhere the status is an Error. Scores and Reserve cannot be
//     run at all, and the snapshot cannot be changed.
//   - A waiting pod is allowed, rejected or preempted before the next scheduling
//     attempt, not within the call.
//   - This bridge sees a pod as being in PreBind only while one of its own plugins
//     runs PreBind.
//   - There are no pod signatures (KEP-5598).
type Handle struct {
	b      *Bridge
	lister lister

	// whatIfMu guards the field below. It is held while a what-if is evaluated, which must
	// happen on one goroutine at a time, while plugins use many.
	whatIfMu sync.Mutex
	whatIf   *whatIf // within PostFilter

	// mu guards the fields below. It is not held during calls of other code.
	mu          sync.Mutex
	nominations state.Nominations // of the current cycle
	preBind     map[types.UID]*podInPreBind
}

var _ framework.Handle = (*Handle)(nil)

func newHandle(b *Bridge) *Handle {
	return &Handle{b: b, lister: lister{&b.cluster, b.deps.PodGroups}, preBind: make(map[types.UID]*podInPreBind)}
}

// SnapshotSharedLister implements framework.Handle.
func (h *Handle) SnapshotSharedLister() framework.SharedLister { return h.lister }

// MutableSnapshotSharedLister implements framework.Handle; see [Handle].
func (h *Handle) MutableSnapshotSharedLister() framework.MutableSnapshotSharedLister {
	return unchanged{h.lister}
}

// ClientSet implements framework.Handle.
func (h *Handle) ClientSet() kubernetes.Interface { return h.b.deps.ClientSet }

// KubeConfig implements framework.Handle.
func (h *Handle) KubeConfig() *rest.Config { return h.b.deps.KubeConfig }

// EventRecorder implements framework.Handle.
func (h *Handle) EventRecorder() events.EventRecorderLogger { return h.b.deps.EventRecorder }

// SharedInformerFactory implements framework.Handle.
func (h *Handle) SharedInformerFactory() informers.SharedInformerFactory {
	return reindexed{h.b.deps.Informers}
}

// SharedDRAManager implements framework.Handle.
func (h *Handle) SharedDRAManager() framework.SharedDRAManager { return h.b.deps.DRA }

// SharedCSIManager implements framework.Handle.
func (h *Handle) SharedCSIManager() framework.CSIManager { return h.b.deps.CSI }

// Extenders implements framework.Handle.
func (h *Handle) Extenders() []framework.Extender { return h.b.deps.Extenders }

// Parallelizer implements framework.Handle.
func (h *Handle) Parallelizer() framework.Parallelizer { return parallelizer(h.b.config.Parallelism) }

// APIDispatcher implements framework.Handle.
func (h *Handle) APIDispatcher() framework.APIDispatcher { return h.b.deps.APIDispatcher }

// APICacher implements framework.Handle.
func (h *Handle) APICacher() framework.APICacher { return h.b.deps.APICacher }

// ProfileName implements framework.Handle.
func (h *Handle) ProfileName() string { return h.b.config.Profile }

// PodGroupManager implements framework.Handle.
func (h *Handle) PodGroupManager() framework.PodGroupManager { return h.b.deps.PodGroups }

// SignPod implements framework.Handle: no pod has a signature.
func (h *Handle) SignPod(context.Context, *v1.Pod) framework.PodSignature { return nil }

// Activate implements framework.PodActivator.
func (h *Handle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	s := h.scheduler()
	if s == nil || len(pods) == 0 {
		return
	}
	var uids []types.UID
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		uids = append(uids, pods[name].UID)
	}
	s.Activate(uids...)
}

func (h *Handle) scheduler() plugin.Loop {
	if h.b.deps.Scheduler == nil {
		return nil
	}
	return h.b.deps.Scheduler()
}

// AddNominatedPod implements framework.PodNominator; see [Handle].
func (h *Handle) AddNominatedPod(klog.Logger, framework.PodInfo, *framework.NominatingInfo) {}

// DeleteNominatedPodIfExists implements framework.PodNominator; see [Handle].
func (h *Handle) DeleteNominatedPodIfExists(*v1.Pod) {}

// UpdateNominatedPod implements framework.PodNominator; see [Handle].
func (h *Handle) UpdateNominatedPod(klog.Logger, *v1.Pod, framework.PodInfo) {}

// NominatedPodsForNode implements framework.PodNominator.
func (h *Handle) NominatedPodsForNode(name string) []framework.PodInfo {
	h.mu.Lock()
	nominations := h.nominations
	h.mu.Unlock()
	if nominations == nil || nominations.Len() == 0 {
		return nil
	}
	var out []framework.PodInfo
	for node, pods := range nominations.Nodes {
		if node == name {
			for _, pod := range pods {
				out = append(out, newPodInfo(pod))
			}
		}
	}
	return out
}

// see stores the nominations of the current cycle.
func (h *Handle) see(nominations state.Nominations) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nominations = nominations
}
