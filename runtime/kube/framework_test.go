package kube_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/internal/eventually"
)

// TestFramework: plugins of kube-scheduler's framework share the cluster's informers, and the cluster is not known before
// those are that a plugin has asked for.
func TestFramework(t *testing.T) {
	c, client := connect(t, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, &v1.ConfigMap{ObjectMeta: meta("limits")})
	var refuse atomic.Bool
	refuse.Store(true)
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse.Load(), nil, errors.New("not yet")
	})
	d := c.Framework("default-scheduler")
	maps := d.Informers.Core().V1().ConfigMaps().Lister()
	if err := c.Start(newEar(c)); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, func() error {
		err := c.Synced()
		if err == nil {
			t.Fatal("the cluster is known, and no ConfigMap is listed")
		}
		if strings.Contains(err.Error(), "*v1.ConfigMap, which a plugin asked for: not listed yet") {
			return nil
		}
		return err
	})
	refuse.Store(false)
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.ConfigMaps("ns").Get("limits"); err != nil {
		t.Error(err)
	}
	if _, err := d.Informers.Core().V1().Nodes().Lister().Get("n"); err != nil {
		t.Error(err)
	}
	if _, err := d.ClientSet.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}); err != nil || d.EventRecorder == nil {
		t.Errorf("the client: %v, events: %v", err, d.EventRecorder)
	}
}
