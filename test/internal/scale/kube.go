package scale

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// Kube places the pods with kube-scheduler's engine, which looks at all nodes, or at the
// share that it takes by default. The client answers at once and keeps nothing, and the
// queue is left out: pods come ready to be tried.
func Kube(ctx context.Context, w Workload, allNodes bool) (Cost, error) {
	c, err := upstream.Load(nil)
	if err != nil {
		return Cost{}, err
	}
	percentage := c.PercentageOfNodesToScore
	if allNodes {
		percentage = new(int32(100))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client := fake.NewClientset()
	var bound atomic.Int64
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetVerb() == "create" && action.GetSubresource() == "binding" {
			bound.Add(1)
		}
		return action.GetVerb() == "create" || action.GetVerb() == "patch", &v1.Pod{}, nil
	})
	s, err := scheduler.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil,
		func(string) events.EventRecorderLogger { return silent{} },
		scheduler.WithProfiles(c.Profiles...), scheduler.WithPercentageOfNodesToScore(percentage), scheduler.WithParallelism(1))
	if err != nil {
		return Cost{}, err
	}
	logger := klog.FromContext(ctx)
	for _, n := range w.Nodes {
		s.Cache.AddNode(logger, n)
	}
	pods := make([]*internal.QueuedPodInfo, len(w.Pods))
	for i, p := range w.Pods {
		info, err := internal.NewPodInfo(p)
		if err != nil {
			return Cost{}, err
		}
		pods[i] = &internal.QueuedPodInfo{PodInfo: info, QueueingParams: internal.QueueingParams{
			UnschedulablePlugins: sets.New[string](), PendingPlugins: sets.New[string](),
		}}
	}
	next := 0
	s.NextEntity = func(klog.Logger) (internal.QueuedEntityInfo, error) {
		next++
		return pods[next-1], nil
	}
	watch := start()
	for range pods {
		s.ScheduleOne(ctx)
	}
	for end := time.Now().Add(time.Minute); bound.Load() < int64(len(pods)); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return Cost{}, fmt.Errorf("kube-scheduler bound %d of %d pods", bound.Load(), len(pods))
		}
	}
	return watch.cost(len(pods)), nil
}

// silent takes no events.
type silent struct{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
func (s silent) WithLogger(klog.Logger) events.EventRecorderLogger                           { return s }
