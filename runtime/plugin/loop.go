package plugin

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// WaitingPod is a pod that waits at Permit, as code outside the loop sees it.
type WaitingPod struct {
	Pod *state.Pod
	// Plugins are the ones that have not allowed it yet.
	Plugins []string
}

// Loop is what plugins of kube-scheduler's framework can request of the scheduling loop, from any goroutine.
// Requests take effect before the next scheduling attempt.
type Loop interface {
	// WaitingPods returns the pods that wait at Permit.
	WaitingPods() []WaitingPod
	// AllowWaiting ends one plugin's wait for a pod.
	AllowWaiting(uid types.UID, plugin string)
	// RejectWaiting sends a waiting pod back to the queue.
	RejectWaiting(uid types.UID, by, reason string)
	// Activate moves parked pods to the active queue.
	Activate(uids ...types.UID)
}
