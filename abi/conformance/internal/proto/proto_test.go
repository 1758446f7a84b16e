package proto_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/generate"
	"github.com/berth-scheduler/berth/abi/conformance/internal/proto"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestObjects: generated objects are API objects by their JSON, without unknown fields. The
// API's own code reads what Pod and Node write, and Read reads what that code writes.
func TestObjects(t *testing.T) {
	reads := &wire.ManifestReads{
		NodeLabels: []string{"pool"}, NodeAnnotations: []string{"note"}, NodeConditions: []string{"Ready"}, Resources: []string{"cpu", "example.com/gpu"},
		PodLabels: []string{"app"}, PodAnnotations: []string{"example.com/gpu"}, NamespaceLabels: []string{"team"},
	}
	g := generate.New(generate.Config{Seed: 3, Reads: reads})
	for i := range 40 {
		c := g.Cluster(3, i%8 == 7)
		for j := range c.Nodes {
			var want v1.Node
			convert(t, &c.Nodes[j], &want)
			var got v1.Node
			if err := got.Unmarshal(proto.Node(&c.Nodes[j])); err != nil {
				t.Fatal(err)
			}
			if !apiequality.Semantic.DeepEqual(want, got) {
				t.Fatal(cmp.Diff(want, got))
			}
		}
		p := g.Pod(false)
		p.Spec.NodeName = "node-1"
		var want, got v1.Pod
		convert(t, &p, &want)
		if err := got.Unmarshal(proto.Pod(&p)); err != nil {
			t.Fatal(err)
		}
		if !apiequality.Semantic.DeepEqual(want, got) {
			t.Fatal(cmp.Diff(want, got))
		}
		read(t, &p, &want)
	}
}

func convert[K, C any](t *testing.T, from C, into *K) {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(into)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if json.Unmarshal(text, &a) != nil || json.Unmarshal(again, &b) != nil {
		t.Fatal("no JSON")
	}
	if missing := lost(a, b, ""); missing != "" {
		t.Fatalf("the API does not know %s of %s", missing, text)
	}
}

// lost returns a field of a that b does not have.
func lost(a, b map[string]any, path string) string {
	for k, v := range a {
		other, ok := b[k]
		if inner, isMap := v.(map[string]any); isMap {
			if len(inner) == 0 {
				continue
			}
			next, _ := other.(map[string]any)
			if l := lost(inner, next, path+"."+k); l != "" {
				return l
			}
		} else if !ok {
			return path + "." + k
		}
	}
	return ""
}

func read(t *testing.T, p *cluster.Pod, object *v1.Pod) {
	t.Helper()
	data, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := proto.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	want := &proto.Object{
		Name: p.Metadata.Name, Namespace: p.Metadata.Namespace, UID: p.Metadata.UID, NodeName: "node-1",
		Labels: p.Metadata.Labels, Annotations: p.Metadata.Annotations,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := range data {
		_, _ = proto.Read(data[:n]) // must not panic
	}
}
