package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// In each of slipNamespaces a tenant makes one TenantPlugin and slipPods pods, 1,000 in all.
const slipNamespaces, slipPods = 100, 10

// countsSlips makes pods together with the object of a plugin that they have to wait for, while another tenant changes objects, and counts
// those that are placed without it. Nothing grants the plugin, so none may be placed. Pods that are made after the object has a status
// must never be: Berth knows of it. Plugins and pods come over two watches, so of other pods some may be; docs/tenants.md has the numbers
// that are logged here.
func countsSlips(t *testing.T) {
	b := newBench(t, "slips", 1, workload.Capacity{CPU: 32_000, Memory: 128_000, Pods: 10_000})
	objects := installKinds(t, b.Cluster)
	b.run(cluster.Scheduler{Program: program()})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	other := slipper{b, objects, b.namespace}
	if err := other.object(ctx); err != nil {
		t.Fatal(err)
	}
	changed := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			if err := objects.Apply(ctx, other.text(i)); err != nil {
				changed <- err
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for _, order := range []struct {
		name string
		make func(ctx context.Context, s slipper) error
		most int
	}{
		{"known", func(ctx context.Context, s slipper) error { return s.inOrder(ctx, s.object, s.known, s.pods) }, 0},
		{"before", func(ctx context.Context, s slipper) error { return s.inOrder(ctx, s.object, s.pods) }, slipNamespaces * slipPods},
		{"together", func(ctx context.Context, s slipper) error {
			return load.Each(ctx, 2, func(ctx context.Context, i int) error {
				if i == 0 {
					return s.object(ctx)
				}
				return s.pods(ctx)
			})
		}, slipNamespaces * slipPods},
	} {
		var slipped atomic.Int64
		err := load.Each(ctx, slipNamespaces, func(ctx context.Context, i int) error {
			s := slipper{b, objects, fmt.Sprintf("slips-%s-%d", order.name, i)}
			if err := s.namespaced(ctx); err != nil {
				return err
			}
			if err := order.make(ctx, s); err != nil {
				return err
			}
			time.Sleep(time.Second) // by then a pod that Berth does not hold is placed
			n, err := s.slipped(ctx)
			slipped.Add(n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d pods slipped", order.name, slipped.Load(), slipNamespaces*slipPods)
		if slipped.Load() > int64(order.most) {
			t.Errorf("%s: want at most %d", order.name, order.most)
		}
	}
	stop()
	if err := <-changed; t.Context().Err() == nil && !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Error(err)
	}
}

// slipper makes the object and the pods of one namespace.
type slipper struct {
	*bench
	objects   *cluster.Objects
	namespace string
}

func (s slipper) namespaced(ctx context.Context) error {
	_, err := s.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, metav1.CreateOptions{})
	return err
}

// text is the TenantPlugin, in its i-th form.
func (s slipper) text(i int) []byte {
	return fmt.Appendf(nil, "{apiVersion: berth.dev/v1alpha1, kind: TenantPlugin, metadata: {name: p, namespace: %s}, "+
		"spec: {module: {image: 'registry.test/p:%d'}}}", s.namespace, i)
}

func (s slipper) object(ctx context.Context) error { return s.objects.Apply(ctx, s.text(0)) }

func (s slipper) pods(ctx context.Context) error {
	for i := range slipPods {
		if err := load.Pod(ctx, s.client, workload.Pod(s.namespace, fmt.Sprint("p-", i), 1, 1)); err != nil {
			return err
		}
	}
	return nil
}

func (s slipper) inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// known waits until the object has a status.
func (s slipper) known(ctx context.Context) error {
	for end := time.Now().Add(statusPatience); ; time.Sleep(50 * time.Millisecond) {
		text, err := s.client.CoreV1().RESTClient().Get().AbsPath("/apis/berth.dev/v1alpha1/namespaces/" + s.namespace + "/tenantplugins/p").DoRaw(ctx)
		switch {
		case err != nil:
			return err
		case strings.Contains(string(text), `"reason":"NoGrant"`):
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s has no status: %s", s.namespace, text)
		}
	}
}

// slipped counts the pods that have a node.
func (s slipper) slipped(ctx context.Context) (n int64, err error) {
	pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	if len(pods.Items) != slipPods {
		return 0, fmt.Errorf("%s has %d pods", s.namespace, len(pods.Items))
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != "" {
			n++
		}
	}
	return n, nil
}
