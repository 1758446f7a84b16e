package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// waitingPod implements framework.WaitingPod.
type waitingPod struct {
	plugin.WaitingPod
	scheduler plugin.Loop
}

var _ framework.WaitingPod = waitingPod{}

// GetPod implements framework.WaitingPod.
func (w waitingPod) GetPod() *v1.Pod { return w.Pod.Object }

// GetPendingPlugins implements framework.WaitingPod.
func (w waitingPod) GetPendingPlugins() []string { return slices.Clone(w.Plugins) }

// Allow implements framework.WaitingPod.
func (w waitingPod) Allow(plugin string) { w.scheduler.AllowWaiting(w.Pod.UID, plugin) }

// Reject implements framework.WaitingPod. It reports whether the pod was still waiting; another
// plugin may have been faster.
func (w waitingPod) Reject(plugin, reason string) bool {
	waits := slices.ContainsFunc(w.scheduler.WaitingPods(), w.is)
	w.scheduler.RejectWaiting(w.Pod.UID, plugin, reason)
	return waits
}

// Preempt implements framework.WaitingPod, like Reject.
func (w waitingPod) Preempt(plugin, reason string) bool { return w.Reject(plugin, reason) }

func (w waitingPod) is(o plugin.WaitingPod) bool { return o.Pod.UID == w.Pod.UID }

// IterateOverWaitingPods implements framework.Handle.
func (h *Handle) IterateOverWaitingPods(callback func(framework.WaitingPod)) {
	s := h.scheduler()
	if s == nil {
		return
	}
	for _, pod := range s.WaitingPods() {
		callback(waitingPod{pod, s})
	}
}

// GetWaitingPod implements framework.Handle.
func (h *Handle) GetWaitingPod(uid types.UID) framework.WaitingPod {
	s := h.scheduler()
	if s == nil {
		return nil
	}
	for _, pod := range s.WaitingPods() {
		if pod.Pod.UID == uid {
			return waitingPod{pod, s}
		}
	}
	return nil
}

// RejectWaitingPod implements framework.Handle.
func (h *Handle) RejectWaitingPod(uid types.UID) bool {
	w := h.GetWaitingPod(uid)
	return w != nil && w.Reject("", "removed")
}

// podInPreBind implements framework.PodInPreBind.
type podInPreBind struct {
	mu               sync.Mutex
	cancel           context.CancelCauseFunc
	canceled, passed bool
}

var _ framework.PodInPreBind = (*podInPreBind)(nil)

// CancelPod implements framework.PodInPreBind.
func (p *podInPreBind) CancelPod(reason string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passed {
		return false
	}
	if !p.canceled {
		p.canceled = true
		p.cancel(errors.New(reason))
	}
	return true
}

// MarkPrebound implements framework.PodInPreBind.
func (p *podInPreBind) MarkPrebound() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed = !p.canceled
	return p.passed
}

// AddPodInPreBind implements framework.Handle.
func (h *Handle) AddPodInPreBind(uid types.UID, cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.preBind[uid] = &podInPreBind{cancel: cancel}
}

// GetPodInPreBind implements framework.Handle.
func (h *Handle) GetPodInPreBind(uid types.UID) framework.PodInPreBind {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.preBind[uid]; ok {
		return p
	}
	return nil
}

// RemovePodInPreBind implements framework.Handle.
func (h *Handle) RemovePodInPreBind(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.preBind, uid)
}
