package dumps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// clusters is how many clusters TestDumps draws, each of about 40 objects.
const clusters = 300

// TestDumps: what kube-apiserver's own code accepts, berth simulate reads, as YAML and as JSON, without leaving
// anything out; and it decides as a scheduler does that gets the stored objects themselves.
func TestDumps(t *testing.T) {
	drawn, accepted, placed, evicted := map[string]int{}, map[string]int{}, 0, 0
	for seed := range uint64(clusters) {
		stored := draw(t, seed, drawn, accepted)
		if t.Failed() {
			return
		}
		want := decide(t, seed, fromObjects(stored))
		placed += strings.Count(want, " on ")
		evicted += strings.Count(want, " evicted for ")
		for _, format := range []string{"yaml", "json"} {
			path := write(t, stored, format)
			o, err := input.LoadCluster(t.Context(), []string{path}, false)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, format, err)
			}
			for _, w := range o.Warnings {
				if !slices.ContainsFunc(expected(), func(about string) bool { return strings.Contains(w.Detail, about) }) {
					t.Errorf("seed %d, %s: %v", seed, format, w)
				}
			}
			if got := decide(t, seed, fromFiles(o)); got != want {
				t.Errorf("seed %d, %s: from files\n%sfrom objects\n%s", seed, format, got, want)
			}
		}
		if t.Failed() {
			return
		}
	}
	if placed == 0 || evicted == 0 {
		t.Errorf("%d pods were placed, %d evicted", placed, evicted)
	}
	for _, kind := range Kinds() {
		t.Logf("%s: %d drawn, %d accepted", kind, drawn[kind], accepted[kind])
		if accepted[kind] == 0 || accepted[kind] == drawn[kind] && kind != "DeviceClass" {
			t.Errorf("of %d drawn %s objects, %d are accepted", drawn[kind], kind, accepted[kind])
		}
	}
	t.Logf("%d clusters, %d pods placed, %d evicted", clusters, placed, evicted)
}

// expected are parts of warnings about what only these clusters have: pods on nodes that were not accepted, no pods, and classes that
// are younger than their pods.
func expected() []string {
	return []string{"the pod uses resources of a node that does not exist", "so there is nothing to simulate",
		"is kept, although priorityclass"}
}

func draw(t *testing.T, seed uint64, drawn, accepted map[string]int) (stored []runtime.Object) {
	d := NewDrawer(seed, []int{2, 5, 15}[seed%3])
	var nodes []string
	seen := make(map[string]bool)
	for _, kind := range []string{
		"Namespace", "PriorityClass", "LimitRange", "ResourceQuota", "Node", "CSINode", "StorageClass", "PersistentVolume",
		"PersistentVolumeClaim", "CSIStorageCapacity",
		"DeviceClass", "ResourceSlice", "ResourceClaim", "PodDisruptionBudget", "Pod",
	} {
		n := map[string]int{"Node": 6, "Pod": 16}[kind]
		for i := range max(n, 2) {
			drawn[kind]++
			object, err := Create(d.Object(kind, i), fmt.Sprintf("%s-%d", kind, i))
			if err != nil {
				continue
			}
			accepted[kind]++
			name := kind + "/" + object.(metav1.Object).GetName()
			if seen[name] {
				continue // it is there already
			}
			seen[name] = true
			switch x := object.(type) {
			case *v1.Node:
				nodes = append(nodes, x.Name)
			case *v1.Pod:
				d.Admit(x, nodes)
			}
			stored = append(stored, object)
		}
	}
	return stored
}

func write(t *testing.T, objects []runtime.Object, format string) string {
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": objects}
	text, err := json.MarshalIndent(list, "", "  ")
	if err == nil && format == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	path := filepath.Join(t.TempDir(), "dump."+format)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// fromObjects is the cluster as informers give it to berth run.
func fromObjects(objects []runtime.Object) sim.Config {
	var c sim.Config
	var pods []*v1.Pod
	for _, object := range objects {
		switch x := object.DeepCopyObject().(type) {
		case *v1.Node:
			c.Nodes = append(c.Nodes, x)
		case *v1.Namespace:
			c.Namespaces = append(c.Namespaces, x)
		case *policyv1.PodDisruptionBudget:
			c.PodDisruptionBudgets = append(c.PodDisruptionBudgets, x)
		case *v1.Pod:
			pods = append(pods, x)
		}
	}
	// The order of Objects.Storage.
	for _, kind := range []string{"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIStorageCapacity",
		"ResourceClaim", "ResourceSlice", "DeviceClass"} {
		for _, object := range objects {
			if object.GetObjectKind().GroupVersionKind().Kind == kind {
				c.Storage = append(c.Storage, object.DeepCopyObject().(metav1.Object))
			}
		}
	}
	return withPods(c, pods)
}

func fromFiles(o *input.Objects) sim.Config {
	return withPods(sim.Config{Nodes: o.Nodes, Storage: o.Storage(), Namespaces: o.Namespaces, PodDisruptionBudgets: o.PodDisruptionBudgets},
		o.Pods)
}

func withPods(c sim.Config, pods []*v1.Pod) sim.Config {
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			c.Bound = append(c.Bound, state.NewPod(pod))
		} else {
			c.Arrivals = append(c.Arrivals, input.Arrival{Pod: pod})
		}
	}
	return c
}

func decide(t *testing.T, seed uint64, c sim.Config) string {
	c.Assembly = assembly.Config{Seed: seed, Workers: 1, Scheduler: assembly.Default()}
	c.Attempts = 2
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, p := range r.Placements {
		fmt.Fprintf(&b, "%s/%s on %s\n", p.Namespace, p.Pod, p.Node)
	}
	for _, p := range r.Evicted {
		fmt.Fprintf(&b, "%s/%s evicted for %s\n", p.Namespace, p.Pod, p.For)
	}
	for _, p := range r.Unschedulable {
		fmt.Fprintf(&b, "%s/%s: %s\n", p.Namespace, p.Pod, p.Message)
	}
	return b.String()
}
