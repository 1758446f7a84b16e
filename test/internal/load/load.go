// Package load creates many objects in a cluster, deletes them, and waits until a scheduler has
// placed pods.
package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/test/internal/workload"
)

// workers is the number of concurrent requests: enough to keep an API server on a small machine
// busy.
const workers = 16

// Each calls f with 0 … n−1 from several goroutines, in that order, until one
// fails.
func Each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := f(ctx, i); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// Nodes creates the nodes from … to−1.
func Nodes(ctx context.Context, client kubernetes.Interface, from, to int, capacity workload.Capacity, tainted bool) error {
	return Each(ctx, to-from, func(ctx context.Context, i int) error {
		node := workload.Node(from+i, capacity)
		if tainted {
			workload.Taint(node, from+i)
		}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
}

// Pod creates a pod, and retries while the API server is unreachable or overloaded.
func Pod(ctx context.Context, client kubernetes.Interface, pod *v1.Pod) error {
	return insist(ctx, func() error {
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // an earlier attempt whose answer was lost
		}
		return err
	})
}

// insist repeats a request until it succeeds, or fails with a permanent error.
func insist(ctx context.Context, request func() error) error {
	for {
		err := request()
		if err == nil || !mayPass(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// mayPass reports whether a request may succeed on retry: when the API server is unreachable,
// overloaded, or has only begun to load the RBAC rules.
func mayPass(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
}

// pending returns the number of pods of a namespace that are not bound, from the API server's
// cache (version 0), or in the newest state (no version); -1 while the API server is
// unreachable.
func pending(ctx context.Context, client kubernetes.Interface, namespace, version string) int {
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", "").String(), ResourceVersion: version,
	})
	if err != nil {
		return -1
	}
	return len(list.Items)
}

// AwaitPlaced waits until every pod of a namespace is bound.
func AwaitPlaced(ctx context.Context, client kubernetes.Interface, namespace string) error {
	left := -1
	for {
		n := pending(ctx, client, namespace, "0")
		if n == 0 { // the cache may lack the most recent pods
			n = pending(ctx, client, namespace, "")
		}
		if n >= 0 {
			left = n
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d pods of %s are pending: %w", left, namespace, ctx.Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// Clear deletes the pods of a namespace at once, and waits until they are gone. It retries
// while the API server is unreachable or overloaded.
func Clear(ctx context.Context, client kubernetes.Interface, namespace string) error {
	var zero int64
	for {
		var list *v1.PodList
		if err := insist(ctx, func() (err error) {
			list, err = client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			return err
		}); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return nil
		}
		if err := Each(ctx, len(list.Items), func(ctx context.Context, i int) error {
			return insist(ctx, func() error {
				err := client.CoreV1().Pods(namespace).Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			})
		}); err != nil {
			return err
		}
	}
}
