package util

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
)

// behind is how much later than the cache of the test that of the process may be.
const behind = 150 * time.Millisecond

// SyncSchedulerInformerFactory waits for the informers of the test and for the scheduler outside.
func SyncSchedulerInformerFactory(testCtx *TestContext) {
	syncInside(testCtx)
	testCtx.Scheduler.StartOutside()
}

// The others wait for a cache, and then for that of the process.

func WaitForNodesInCache(ctx context.Context, sched *scheduler.Scheduler, nodeCount int) error {
	defer time.Sleep(behind)
	return waitForNodesInside(ctx, sched, nodeCount)
}

func WaitCachedPodsStable(testCtx *TestContext, pods []*v1.Pod) error {
	defer time.Sleep(behind)
	return waitCachedPodsInside(testCtx, pods)
}

func WaitForSchedulerCacheCleanup(ctx context.Context, sched *scheduler.Scheduler, t *testing.T) {
	defer time.Sleep(behind)
	waitForCleanupInside(ctx, sched, t)
}

func WaitForReflection(ctx context.Context, t *testing.T, nodeLister corelisters.NodeLister, key string, passFunc func(n interface{}) bool) error {
	defer time.Sleep(behind)
	return waitForReflectionInside(ctx, t, nodeLister, key, passFunc)
}
