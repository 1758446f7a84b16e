package encoding

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podOf(name string, size int) *v1.Pod {
	p := &v1.Pod{}
	p.Name = name
	p.Annotations = map[string]string{"a": strings.Repeat("x", size)}
	return p
}

// TestCacheIsBounded: what is kept never exceeds the bound, what was read last
// stays, and what could never fit is not kept.
func TestCacheIsBounded(t *testing.T) {
	const most, size = 100_000, 1000
	e := bounded(most)
	used := podOf("used", size)
	first := e.Pod(used)
	for i := range 1000 {
		e.Pod(podOf(fmt.Sprint("p", i), size))
		if e.Pod(used) != first {
			t.Fatalf("the pod that is always read was dropped after %d others", i+1)
		}
		if e.mu.bytes > most || e.mu.bytes < 0 {
			t.Fatalf("%d bytes are kept", e.mu.bytes)
		}
	}
	if n := e.mu.recent.Len(); n < 50 || n*size > most {
		t.Errorf("%d are kept", n)
	}
	large := podOf("large", most)
	if a, b := e.Pod(large), e.Pod(large); a == b || !bytes.Equal(a.Data, b.Data) || e.mu.bytes > most {
		t.Errorf("an object larger than the bound is kept: %d bytes", e.mu.bytes)
	}
	sum := 0
	for e.mu.recent.Len() > 0 {
		e.mu.recent.RemoveOldest()
		sum++
	}
	if e.mu.bytes != 0 {
		t.Errorf("%d bytes are left without any of %d entries", e.mu.bytes, sum)
	}
}

// TestCacheOfOthers: another object is another encoding, even where an earlier one
// was in memory, and objects that are gone are not kept alive.
func TestCacheOfOthers(t *testing.T) {
	e := New()
	var gone sync.WaitGroup
	for i := range 100 {
		for j := range 20 {
			p := podOf(fmt.Sprintf("p%d-%d", i, j), 10_000)
			var got v1.Pod
			if err := got.Unmarshal(e.Pod(p).Data); err != nil || got.Name != p.Name {
				t.Fatalf("%s for %s: %v", got.Name, p.Name, err)
			}
			if i == 0 {
				gone.Add(1)
				runtime.AddCleanup(p, func(struct{}) { gone.Done() }, struct{}{})
			}
			n := &v1.Node{ObjectMeta: p.ObjectMeta}
			var node v1.Node
			if err := node.Unmarshal(e.Node(n).Data); err != nil || node.Name != n.Name {
				t.Fatalf("%s for %s: %v", node.Name, n.Name, err)
			}
		}
		runtime.GC()
	}
	gone.Wait()
}

// TestEncodingsTogether: many readers get the same bytes at the same price.
func TestEncodingsTogether(t *testing.T) {
	e := bounded(50_000) // for some of them
	pods := make([]*v1.Pod, 100)
	want := make([]*Object, len(pods))
	for i := range pods {
		pods[i] = podOf(fmt.Sprint("p", i), i*50)
		pods[i].ManagedFields = nil
		want[i] = New().Pod(pods[i])
	}
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				j := (i*7 + k*13) % len(pods)
				if got := e.Pod(pods[j]); !bytes.Equal(got.Data, want[j].Data) || got.Price != want[j].Price {
					t.Errorf("pod %d: %d bytes for %d units, want %d for %d", j, len(got.Data), got.Price, len(want[j].Data), want[j].Price)
				}
			}
		})
	}
	wg.Wait()
}

// TestEffort: each part of an object has its price: those of a list, of a map, and behind a pointer.
func TestEffort(t *testing.T) {
	plain := effort(reflect.ValueOf(v1.Pod{}))
	for name, pod := range map[string]v1.Pod{
		"a container":  {Spec: v1.PodSpec{Containers: []v1.Container{{}}}},
		"a label":      {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": ""}}},
		"a quantity":   {Spec: v1.PodSpec{Overhead: v1.ResourceList{"cpu": resource.Quantity{}}}},
		"an affinity":  {Spec: v1.PodSpec{Affinity: &v1.Affinity{}}},
		"two commands": {Spec: v1.PodSpec{Containers: []v1.Container{{Command: []string{"a", "b"}}}}},
	} {
		if more := effort(reflect.ValueOf(pod)); more <= plain {
			t.Errorf("a pod with %s has the price %d, and one without %d", name, more, plain)
		}
	}
}
