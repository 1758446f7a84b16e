package queues

import (
	_ "unsafe" // for go:linkname

	"k8s.io/klog/v2"
	theirs "k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// kube-scheduler's queue does these things by itself in goroutines, in real time
// (PriorityQueue.Run). A comparison needs them done at the same moments.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(p *theirs.PriorityQueue, logger klog.Logger)

//go:linkname flushLeftover k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulableEntitiesLeftover
func flushLeftover(p *theirs.PriorityQueue, logger klog.Logger)
