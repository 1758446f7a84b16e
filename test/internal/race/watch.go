package race

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/watch"
)

// tracker records by the driver's clock when pods were created and when a watch reported them
// as bound; timestamps of the API server are whole seconds.
type tracker struct {
	mu struct {
		sync.Mutex
		created, bound map[string]time.Time // by name
		waiting        int                  // pods that bound is to have
		done           chan struct{}        // closed when it has
	}
	err chan error // of the watch
}

// track starts to watch the pods of a namespace. It ends with ctx.
func track(ctx context.Context, client kubernetes.Interface, namespace string) (*tracker, error) {
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	// A busy API server closes watches; this one resumes where it was.
	w, err := watch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: client.CoreV1().Pods(namespace).Watch})
	if err != nil {
		return nil, err
	}
	t := &tracker{err: make(chan error, 1)}
	t.mu.created, t.mu.bound = make(map[string]time.Time), make(map[string]time.Time)
	go func() {
		for event := range w.ResultChan() {
			pod, ok := event.Object.(*v1.Pod)
			if !ok {
				t.err <- fmt.Errorf("watch of pods: %v", event.Object)
				return
			}
			if pod.Spec.NodeName != "" {
				t.hasNode(pod.Name, time.Now())
			}
		}
		if ctx.Err() == nil {
			t.err <- fmt.Errorf("watch of pods ended")
		}
	}()
	return t, nil
}

func (t *tracker) hasNode(name string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.mu.created[name]; !ok {
		return // of another part of the run
	}
	if _, ok := t.mu.bound[name]; ok {
		return
	}
	t.mu.bound[name] = at
	if t.mu.done != nil && len(t.mu.bound) == t.mu.waiting {
		close(t.mu.done)
	}
}

// create records that a pod is about to be created.
func (t *tracker) create(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.created[name] = time.Now()
}

// await waits until n pods are bound.
func (t *tracker) await(ctx context.Context, n int) error {
	t.mu.Lock()
	done := make(chan struct{})
	t.mu.waiting, t.mu.done = n, done
	have := len(t.mu.bound)
	if have >= n {
		t.mu.done = nil
		close(done)
	}
	t.mu.Unlock()
	select {
	case <-done:
		return nil
	case err := <-t.err:
		return err
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("%d of %d pods have a node: %w", len(t.mu.bound), n, ctx.Err())
	}
}

// times returns when the pods were created, and when they were bound, in no order. For pods
// that were created before a moment, that moment counts.
func (t *tracker) times(notBefore time.Time) (first, last time.Time, latencies []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, bound := range t.mu.bound {
		created := t.mu.created[name]
		if created.Before(notBefore) {
			created = notBefore
		}
		latencies = append(latencies, bound.Sub(created))
		if first.IsZero() || created.Before(first) {
			first = created
		}
		if bound.After(last) {
			last = bound
		}
	}
	return first, last, latencies
}
