package kube_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/internal/eventually"
)

// TestIntake: the scheduler gets all objects and each change; pods of other
// schedulers only when they are on a node.
func TestIntake(t *testing.T) {
	c, client, e := started(t,
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "1"}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "u", ResourceVersion: "1"}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u", ResourceVersion: "1"}},
		pod("ours", "", "default-scheduler"), pod("theirs", "", "other"), pod("placed", "n", "other"))
	e.expect(t, "node n", "namespace ns", "event storage.k8s.io/StorageClassAdd",
		"pod ns/ours uid-ours on ", "pod ns/placed uid-placed on n")

	pods := client.CoreV1().Pods("ns")
	update := func(p *v1.Pod, version string) {
		t.Helper()
		p.ResourceVersion = version
		if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update(pod("theirs", "n", "other"), "2")
	e.expect(t, "pod ns/theirs uid-theirs on n")
	again := pod("ours", "", "default-scheduler")
	again.UID = "uid-again" // deleted and made anew, and the watch has missed it
	update(again, "2")
	e.expect(t, "pod gone uid-ours", "pod ns/ours uid-again on ")
	if err := pods.Delete(t.Context(), "placed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "pod gone uid-placed")
	if err := client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "node gone n")
	if err := client.StorageV1().StorageClasses().Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "event storage.k8s.io/StorageClassDelete")
	e.never(t)
	if c.Start(e) == nil {
		t.Error("it can be started twice")
	}
}

// TestLookups: what plugins look up is what the cluster has, without what nobody
// reads.
func TestLookups(t *testing.T) {
	named := func(name string) metav1.ObjectMeta {
		m := meta(name)
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		return m
	}
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	c, client, e := started(t,
		&v1.Service{ObjectMeta: named("b")}, &v1.Service{ObjectMeta: named("a")},
		&v1.ReplicationController{ObjectMeta: named("rc"), Spec: v1.ReplicationControllerSpec{Template: &template}},
		&appsv1.ReplicaSet{ObjectMeta: named("rs"), Spec: appsv1.ReplicaSetSpec{Template: template}},
		&appsv1.StatefulSet{ObjectMeta: named("ss"), Spec: appsv1.StatefulSetSpec{Template: template}},
		&policyv1.PodDisruptionBudget{ObjectMeta: named("y")}, &policyv1.PodDisruptionBudget{ObjectMeta: named("x")},
		&v1.PersistentVolumeClaim{ObjectMeta: named("claim")},
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ManagedFields: named("").ManagedFields}}, pod("p", "", "default-scheduler"))
	services, controllers := c.Services().Services("ns"), c.Controllers()
	if len(services) != 2 || services[0].Name != "a" || services[0].ManagedFields != nil || c.Services().Services("other") != nil {
		t.Errorf("services are %v", services)
	}
	if rc := controllers.ReplicationController("ns", "rc"); rc == nil || rc.Spec.Template != nil {
		t.Errorf("replication controller is %v", rc)
	}
	if rs := controllers.ReplicaSet("ns", "rs"); rs == nil || rs.Spec.Template.Name != "" {
		t.Errorf("replica set is %v", rs)
	}
	if ss := controllers.StatefulSet("ns", "ss"); ss == nil || ss.Spec.Template.Name != "" {
		t.Errorf("stateful set is %v", ss)
	}
	if budgets, err := c.Budgets().List(); err != nil || len(budgets) != 2 || budgets[0].Name != "x" {
		t.Errorf("budgets are %v, %v", budgets, err)
	}
	storage := c.Storage()
	if storage.Objects.Claims.Claim("ns", "claim") == nil || storage.Objects.Claims.Claim("ns", "other") != nil {
		t.Error("claims are others")
	}
	if n := storage.Exists.NodeObject("n"); n == nil || n.ManagedFields != nil || storage.Exists.NodeObject("m") != nil {
		t.Errorf("node is %v", n)
	}
	if !storage.Exists.HasPod("ns", "p") || storage.Exists.HasPod("ns", "q") {
		t.Error("pods are others")
	}
	if err := client.CoreV1().Services("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.PolicyV1().PodDisruptionBudgets("ns").Delete(t.Context(), "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "one service and one budget", func() (gone bool) {
		e.between(func() {
			budgets, _ := c.Budgets().List()
			gone = len(c.Services().Services("ns")) == 1 && len(budgets) == 1
		})
		return gone
	})
	if len(services) != 2 || services[0].Name != "a" {
		t.Error("what was read has changed")
	}
}

// TestForbidden: a missing right to watch is reported with a remedy.
func TestForbidden(t *testing.T) {
	c, client := connect(t)
	client.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, "", nil)
	})
	if err := c.Start(newEar(c)); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, func() error {
		err := c.Synced()
		if err == nil || !strings.Contains(err.Error(), "needs list and watch on poddisruptionbudgets.policy") || strings.Contains(err.Error(), "nodes") {
			return fmt.Errorf("what is said of the missing right: %w", err)
		}
		return nil
	})
}
