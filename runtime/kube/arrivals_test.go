package kube_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// TestArrivals: of 1,000 pods that are made after a plugin of their namespace, none gets to the scheduler before it
// knows the plugin; pods that it knows, pods of others and placed ones do.
func TestArrivals(t *testing.T) {
	s := &pluginServer{served: true}
	c, client, e := withPlugins(t, s)
	e.expect(t, "namespace a")
	<-c.PluginsChanged() // of the namespace
	create := func(namespace, name, node string) {
		t.Helper()
		p := pod(name, node, "default-scheduler")
		p.Namespace = namespace
		if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change := func(namespace, name, node, version string) {
		t.Helper()
		p := pod(name, node, "default-scheduler")
		p.Namespace, p.ResourceVersion = namespace, version
		if _, err := client.CoreV1().Pods(namespace).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("a", "before", "")
	e.expect(t, "pod a/before uid-before on ")
	early := c.AttachedPlugins()
	s.send(t, c, tenantPlugin("pool", 1))

	const slip = 1000
	for i := range slip {
		create("a", fmt.Sprint("new-", i), "")
	}
	create("a", "placed", "n")
	create("b", "other", "") // the watch of pods tells of it after those of a
	change("a", "before", "", "2")
	change("a", "new-0", "", "2")
	change("a", "new-1", "n", "2")
	if err := client.CoreV1().Pods("a").Delete(t.Context(), "new-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "pod a/placed uid-placed on n", "pod b/other uid-other on ", "pod a/before uid-before on ", "pod a/new-1 uid-new-1 on n", "pod gone uid-new-2")
	early() // what was known before the plugin
	e.never(t)
	if name := (types.NamespacedName{Namespace: "a", Name: "new-0"}); !c.KeepsPod(name) {
		t.Error("nobody knows where a pod is that is kept")
	}
	c.AttachedPlugins()()
	e.mu.Lock()
	if got := len(e.heard); got != slip-2 || e.heard[0] != "pod a/new-0 uid-new-0 on " || e.heard[1] != "pod a/new-3 uid-new-3 on " {
		t.Errorf("%d pods get to the scheduler, beginning with %q", got, e.heard[:min(got, 2)])
	}
	e.heard = nil
	e.mu.Unlock()
	create("a", "later", "")
	e.expect(t, "pod a/later uid-later on ")
}

// TestArrivalsWait: pods wait for plugins that decide at once, and no longer than one of them.
func TestArrivalsWait(t *testing.T) {
	s := &pluginServer{served: true}
	c, client, e := withPlugins(t, s)
	e.expect(t, "namespace a")
	<-c.PluginsChanged() // of the namespace
	n := 0
	attach := func(name string, generation int64, change func(*v1alpha1.TenantPluginSpec)) {
		t.Helper()
		n++
		p := tenantPlugin(name, generation)
		p.ResourceVersion = fmt.Sprint(10 + n)
		change(&p.Spec)
		s.send(t, c, p)
		if _, err := client.CoreV1().Pods("a").Create(t.Context(), &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint(n), UID: types.UID(fmt.Sprint(n)), ResourceVersion: "1"}, Spec: v1.PodSpec{SchedulerName: "default-scheduler"},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	goes := func() { t.Helper(); e.expect(t, fmt.Sprintf("pod a/%d %d on ", n, n)) }
	attach("scores", 1, func(s *v1alpha1.TenantPluginSpec) { s.FailurePolicy = v1alpha1.Ignore })
	goes()
	attach("shadow", 1, func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeShadow })
	goes()
	attach("canary", 1, func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeCanary })
	goes()
	kept := func() {
		t.Helper()
		eventually.Holds(t, "the pod is kept", func() bool { return c.KeepsPod(types.NamespacedName{Namespace: "a", Name: fmt.Sprint(n)}) })
		c.AttachedPlugins()()
		goes()
	}
	attach("shadow", 2, func(*v1alpha1.TenantPluginSpec) {}) // it begins to decide
	kept()
	attach("shadow", 3, func(s *v1alpha1.TenantPluginSpec) { s.Module.Image = "registry.test/guest:2" }) // the earlier version decides
	goes()
}
