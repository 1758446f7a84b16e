package input

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	helper "k8s.io/component-helpers/resource"
)

// seeds adds every file of the golden cases whose name has one of the endings.
func seeds(f *testing.F, endings ...string) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range cases {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			for _, end := range endings {
				if strings.HasSuffix(file.Name, end) {
					f.Add(file.Data)
				}
			}
		}
	}
}

func loadBytes(name string, data []byte) (*Objects, error) {
	g := gatherer{left: &gatherer{}, lenient: true}
	objs, err := decodeFiles(context.Background(), []source{{name, data}}, ofClusters(), &g)
	if err != nil {
		return nil, err
	}
	o := assemble(objs, &g)
	return o, g.err()
}

// FuzzCluster: no text panics; an error names the file and a line; accepted objects are named,
// placed, defaulted and unique.
func FuzzCluster(f *testing.F) {
	seeds(f, ".yaml", ".yml", ".json")
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("a: &a {<<: *a}\nkind: Pod"))
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]"))
	f.Add([]byte("{\"kind\":\"List\",\"items\":[1,{\"kind\":\"Node\"}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := loadBytes("f.yaml", data)
		if err != nil {
			checkErrors(t, err, data)
			return
		}
		again, err := loadBytes("f.yaml", data)
		if err != nil || len(again.all()) != len(o.all()) {
			t.Fatalf("a second load gives %d objects and %v, not %d", len(again.all()), err, len(o.all()))
		}
		if whole := loadUncut(t, data); !slices.Equal(whole, names(again)) {
			t.Fatalf("item by item the file has %v, in one piece %v", names(again), whole)
		}
		seen := map[string]bool{}
		for _, obj := range o.all() {
			src, ok := o.Source(obj)
			if !ok || src.Line < 1 || src.Line > strings.Count(string(data), "\n")+1 {
				t.Fatalf("%s is at %v", obj.GetName(), src)
			}
			id := string(obj.GetUID())
			if id == "" || obj.GetName() == "" {
				t.Fatalf("%v has no name or no UID", src)
			}
			key := fmt.Sprintf("%T %s/%s", obj, obj.GetNamespace(), obj.GetName())
			if seen[key] {
				t.Fatalf("%s appears twice", key)
			}
			seen[key] = true
		}
		for _, n := range o.Nodes {
			inRange(t, n.Name, n.Status.Allocatable)
		}
		for _, p := range o.Pods {
			checkPod(t, p)
		}
	})
}

// names returns kind, namespace and name of the objects.
func names(o *Objects) (out []string) {
	for _, obj := range o.all() {
		out = append(out, fmt.Sprintf("%T %s/%s", obj, obj.GetNamespace(), obj.GetName()))
	}
	return out
}

// loadUncut decodes each YAML document without cutting it into items.
func loadUncut(t *testing.T, data []byte) []string {
	d, err := newDecoder(ofClusters(), &gatherer{left: &gatherer{}, lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	g := gatherer{left: &gatherer{}}
	var objs []object
	for _, c := range splitFile(source{"f.yaml", data}) {
		r := d.chunk(t.Context(), &c)
		g.add(r.errs...)
		objs = append(objs, r.objects...)
	}
	o := assemble(objs, &g)
	if err := g.err(); err != nil {
		t.Fatalf("in one piece the file is refused: %v", err)
	}
	return names(o)
}

func checkErrors(t *testing.T, err error, data []byte) {
	var all *Errors
	if !errors.As(err, &all) {
		t.Fatalf("%T: %v", err, err)
	}
	for _, e := range all.List {
		if e.File == "" || e.Detail == "" || e.Line < 1 || e.Line > strings.Count(string(data), "\n")+2 {
			t.Fatalf("bad error %+v", e)
		}
	}
}

func checkPod(t *testing.T, p *v1.Pod) {
	s := p.Spec
	if p.Namespace == "" || s.SchedulerName == "" || s.Priority == nil || s.PreemptionPolicy == nil || len(s.Containers) == 0 {
		t.Fatalf("pod %s is not defaulted: %+v", p.Name, s)
	}
	if len(validation.IsDNS1123Subdomain(p.Name)) > 0 || ended(p) || deleting(p) {
		t.Fatalf("pod %q in phase %s is accepted", p.Name, p.Status.Phase)
	}
	inRange(t, p.Name, helper.PodRequests(p, helper.PodResourcesOptions{UseStatusResources: true}))
	for _, c := range s.Containers {
		inRange(t, p.Name, c.Resources.Requests)
		for name := range c.Resources.Limits {
			if _, ok := c.Resources.Requests[name]; !ok {
				t.Fatalf("pod %s has a limit of %s and no request", p.Name, name)
			}
		}
	}
}

func inRange(t *testing.T, name string, list v1.ResourceList) {
	for r, q := range list {
		if q.Sign() < 0 {
			t.Fatalf("%s has %s of %s", name, q.String(), r)
		}
	}
}

// FuzzTraceNodes: no node list panics; an accepted one has a rank per node and allocatable
// equal to capacity.
func FuzzTraceNodes(f *testing.F) {
	seeds(f, "nodes.csv")
	f.Add([]byte(someNodes))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := buildTrace(t.Context(), source{"n.csv", data}, source{"p.csv", []byte(somePods)}, TraceOptions{Shuffle: true})
		if err != nil {
			return
		}
		if len(trace.NodeRank) != len(trace.Nodes) {
			t.Fatalf("%d ranks for %d nodes", len(trace.NodeRank), len(trace.Nodes))
		}
		for _, n := range trace.Nodes {
			if rank, ok := trace.NodeRank[n.Name]; !ok || rank >= uint64(len(trace.Nodes)) {
				t.Fatalf("node %s has rank %d", n.Name, rank)
			}
			for name, q := range n.Status.Capacity {
				if a := n.Status.Allocatable[name]; a.Cmp(q) != 0 || q.Sign() < 0 {
					t.Fatalf("node %s has %s of %s and may use %s", n.Name, q.String(), name, a.String())
				}
			}
			if len(validation.IsDNS1123Subdomain(n.Name)) > 0 {
				t.Fatalf("node %q is accepted", n.Name)
			}
		}
	})
}

// FuzzTracePods: no pod list panics; an accepted one is sorted by time and valid, clones
// included.
func FuzzTracePods(f *testing.F) {
	seeds(f, "pods.csv")
	f.Add([]byte(somePods))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := buildTrace(t.Context(), source{"n.csv", []byte(someNodes)}, source{"p.csv", data},
			TraceOptions{Shuffle: true, Departures: true, Inflate: 1.2})
		if err != nil {
			return
		}
		names := map[string]bool{}
		for i, a := range trace.Arrivals {
			if i > 0 && a.At < trace.Arrivals[i-1].At || a.At < 0 || a.Until != 0 && a.Until <= a.At {
				t.Fatalf("arrival %d is at %v until %v", i, a.At, a.Until)
			}
			if names[a.Pod.Name] {
				t.Fatalf("%s appears twice", a.Pod.Name)
			}
			names[a.Pod.Name] = true
			checkPod(t, a.Pod)
		}
	})
}
