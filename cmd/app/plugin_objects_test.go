package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

// TestWholeObjects: objects that scenarios read from files have the fields that lines can have, and are whole.
func TestWholeObjects(t *testing.T) {
	manifest := []byte(`{"name": "reader", "version": "0.1.0", "abi": "1.1", "points": {"filter": {"scope": "node"}}, "reads": {
		"node": ["allocatable", "taints"], "pod": ["requests"], "resources": ["example.com/gpu"], "nodeLabels": ["zone"],
		"podLabels": ["app"], "podAnnotations": ["note"], "nodeConditions": ["Ready"]}}`)
	nodes, pods, err := berthtest.Sample(manifest, 20, []string{"gold"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, object any) {
		t.Helper()
		data, err := yaml.Marshal(object)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), append([]byte("apiVersion: v1\nkind: "+kind+"\n"), data...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &wholeObjects{context: context.Background(), scenario: filepath.Join(dir, "nodes.txt"), note: func(text string) { t.Error(text) }}
	for i := range pods {
		object := apiPod(&pods[i])
		object.Spec.Containers[0].Image, object.Spec.NodeSelector = "nginx", map[string]string{"zone": "a"}
		write("pod.yaml", "Pod", object)
		got := berthtest.Pod{Namespace: "other", Name: "name"}
		if err := w.Pod("pod.yaml", &got); err != nil {
			t.Fatal(err)
		}
		same := func(what string, got, want any) {
			t.Helper()
			if fmt.Sprint(got) != fmt.Sprint(want) { // nothing is as good as empty
				t.Errorf("%s: got %v, want %v", what, got, want)
			}
		}
		p := &pods[i]
		maps.DeleteFunc(p.Requests, func(_ string, n int64) bool { return n == 0 })
		same("name", got.Namespace+"/"+got.Name, "other/name")
		same("labels", got.Labels, p.Labels)
		same("annotations", got.Annotations, p.Annotations)
		same("requests", got.Requests, p.Requests)
		same("priority", got.Priority, p.Priority)
		same("selector", got.NodeSelector, object.Spec.NodeSelector)
		same("container", got.Containers[0], berthtest.Container{
			Name: "main", Kind: "app", Image: "nginx:latest", Requests: p.Requests, Limits: map[string]int64{},
		})
		same("toleration", got.Tolerations[0].Value, p.Tolerations[0].Value)
		var whole v1.Pod
		if err := whole.Unmarshal(got.Object); err != nil || whole.Name != "name" || whole.Spec.Containers[0].Image != "nginx" {
			t.Errorf("the whole object: %v: %v", err, whole)
		}
	}
	for i := range nodes {
		write("node.yaml", "Node", apiNode(&nodes[i]))
		got := berthtest.Node{Name: "other"}
		if err := w.Node("node.yaml", &got); err != nil {
			t.Fatal(err)
		}
		var whole v1.Node
		if err := whole.Unmarshal(got.Object); err != nil || whole.Name != "other" || !reflect.DeepEqual(whole.Labels, nodes[i].Labels) {
			t.Errorf("the whole object: %v: %v", err, whole)
		}
		want := nodes[i]
		want.Name, want.Pods, want.Images, got.Object = "other", nil, map[string]int64{}, nil
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestWholeObjectsOfACluster: of a pod as kubectl writes it, the line has the name and the node; without a node it is one to be placed.
func TestWholeObjectsOfACluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pod.yaml")
	const text = `apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, uid: u-1, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u-2, controller: true}]}
spec: {nodeName: worker-3, containers: [{name: web, image: nginx}]}
status: {phase: Running, qosClass: BestEffort, conditions: [
  {type: Ready, status: "True"}, {type: PodScheduled, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &wholeObjects{context: context.Background(), note: func(text string) { t.Error(text) }}
	for node, want := range map[string]string{"": "u-1  0 false false", "a": "u-1 a 1767323045 true true"} {
		p := berthtest.Pod{Namespace: "default", Name: "x", NodeName: node}
		if err := w.Pod(file, &p); err != nil {
			t.Fatal(err)
		}
		var whole v1.Pod
		err := whole.Unmarshal(p.Object)
		if got := fmt.Sprint(p.UID, " ", p.NodeName, " ", p.AssignedAt, p.Running, p.Ready); got != want || p.Owner != "ReplicaSet/web" {
			t.Errorf("on %q: got %s, want %s", node, got, want)
		}
		if err != nil || whole.Spec.NodeName != node || whole.Name != "x" || whole.UID != "u-1" || (whole.Status.Phase == "") != (node == "") {
			t.Errorf("on %q: the whole object: %v: %v", node, err, &whole)
		}
	}
	changed := berthtest.Pod{Namespace: "default", Name: "x", UID: "own", NodeName: "a"}
	if err := w.Pod(file, &changed); err != nil || changed.UID != "own" {
		t.Errorf("%v, UID %s", err, changed.UID)
	}
}
