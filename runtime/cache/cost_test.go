package cache_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

// cluster returns a cache and an updated snapshot with typical nodes: labels, a zone, images;
// and with as many namespaces. The first 1,000 nodes have ten pods each, the others one, to
// keep tests short.
func cluster(t tester, nodes int) (*cache.Cache, *state.Snapshot) {
	t.Helper()
	c, s := cache.New(cache.Config{Rank: rank}), state.NewSnapshot()
	for i := range nodes {
		c.AddNode(raceNode(i).node())
		c.AddNamespace(raceNamespace(i, "a"))
		pods := 10
		if i >= 1000 {
			pods = 1
		}
		for j := range pods {
			if _, err := c.AddPod(racePod(i, j).pod()); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	c.UpdateSnapshot(s)
	return c, s
}

func raceNode(i int) nodeSpec {
	return nodeSpec{
		Name: nodeName(i),
		Labels: map[string]string{
			"kubernetes.io/hostname":        nodeName(i),
			"topology.kubernetes.io/zone":   fmt.Sprint("zone-", i%3),
			"topology.kubernetes.io/region": "region",
			"kubernetes.io/arch":            []string{"amd64", "arm64"}[i%2],
			"pool":                          fmt.Sprint("pool-", i%10),
		},
		Images:  []string{"nginx", "redis", "pause"},
		CPU:     32_000,
		Memory:  128 << 30,
		GPUName: "nvidia.com/gpu", GPU: 8,
	}
}

func raceNamespace(i int, team string) *state.Namespace {
	name := fmt.Sprint("namespace-", i)
	return namespaceOf(name, map[string]string{v1.LabelMetadataName: name, "team": team})
}

func racePod(node, i int) podSpec {
	return podSpec{
		Name: fmt.Sprintf("pod-%d-%d", node, i), UID: fmt.Sprintf("uid-%d-%d", node, i), Node: nodeName(node),
		Labels:     map[string]string{"app": fmt.Sprint("app-", i)},
		Containers: []containerSpec{{CPU: 100, Memory: 250 << 20, GPUName: "nvidia.com/gpu", GPU: 1}},
	}
}

// changes are changes to one node or namespace between two cycles, each repeatable forever.
func changes(t tester, c *cache.Cache, s *state.Snapshot) map[string]func() {
	const on = 7
	pod := podSpec{Name: "new", UID: "new", Node: nodeName(on), Labels: map[string]string{"app": "app-1"},
		Containers: []containerSpec{{CPU: 100, Memory: 250 << 20}}}.pod()
	bare, cordoned := raceNode(on), raceNode(on)
	cordoned.Unschedulable = true
	cordoned.Labels["pool"] = "pool-1"
	cordoned.Taints = []string{"pool-1"}
	objects := []*state.Node{bare.node(), cordoned.node()}
	namespaces := []*state.Namespace{raceNamespace(on, "a"), raceNamespace(on, "b")}
	turn := 0
	return map[string]func(){
		"pod": func() {
			if err := c.Assume(pod); err != nil {
				t.Fatalf("%v", err)
			}
			c.UpdateSnapshot(s)
			if err := c.Forget(pod.UID); err != nil {
				t.Fatalf("%v", err)
			}
			c.UpdateSnapshot(s)
		},
		"node": func() {
			for range objects {
				turn++
				c.AddNode(objects[turn%2])
				c.UpdateSnapshot(s)
			}
		},
		"namespace": func() {
			for _, ns := range namespaces {
				c.AddNamespace(ns)
				c.UpdateSnapshot(s)
			}
		},
		"namespace goes": func() {
			c.RemoveNamespace(namespaces[0].Name)
			c.UpdateSnapshot(s)
			c.AddNamespace(namespaces[0])
			c.UpdateSnapshot(s)
		},
	}
}

// TestRestCostFollowsChange: one changed node or namespace costs the same in a small and in a large
// cluster, and allocates nothing once strings and buffers exist.
func TestRestCostFollowsChange(t *testing.T) {
	written := map[string]uint64{}
	for _, nodes := range []int{100, 1_000, 15_000} {
		c, s := cluster(t, nodes)
		for name, change := range changes(t, c, s) {
			change() // makes strings and buffers
			change()
			before, epoch := s.BytesWritten, s.Epoch
			change()
			got := s.BytesWritten - before
			if want, ok := written[name]; ok && got != want {
				t.Errorf("%s: %d bytes written with %d nodes, %d with fewer", name, got, nodes, want)
			}
			written[name] = got
			if got == 0 || got > 2000 {
				t.Errorf("%s: %d bytes written", name, got)
			}
			if allocs := testing.AllocsPerRun(100, change); allocs != 0 {
				t.Errorf("%s: %v allocations with %d nodes, want none", name, allocs, nodes)
			}
			if s.Epoch != epoch {
				t.Errorf("%s: a new epoch began", name)
			}
		}
		before := s.BytesWritten
		if allocs := testing.AllocsPerRun(100, func() { c.UpdateSnapshot(s) }); allocs != 0 || s.BytesWritten != before {
			t.Errorf("updates without a change wrote %d bytes, with %v allocations", s.BytesWritten-before, allocs)
		}
		requireEqual(t, c, s)
	}
}

// crowded returns a cache and an updated snapshot with one node that has n pods.
func crowded(t tester, n int) (*cache.Cache, *state.Snapshot) {
	t.Helper()
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	c.AddNode(raceNode(0).node())
	for i := range n {
		if _, err := c.AddPod(racePod(0, i).pod()); err != nil {
			t.Fatalf("%v", err)
		}
	}
	c.UpdateSnapshot(s)
	return c, s
}

// placing returns a function that places a pod as an attempt does: it is assumed and confirmed, and then deleted.
func placing(t tester, c *cache.Cache, s *state.Snapshot) func() {
	pod := racePod(0, -1).pod()
	return func() {
		if err := c.Assume(pod); err != nil {
			t.Fatalf("%v", err)
		}
		c.UpdateSnapshot(s)
		if _, err := c.AddPod(pod); err != nil {
			t.Fatalf("%v", err)
		}
		c.UpdateSnapshot(s)
		c.RemovePod(pod.UID)
		c.UpdateSnapshot(s)
	}
}

// TestCostOfCrowdedNode: a pod that comes and goes costs the same however many other pods its node has.
func TestCostOfCrowdedNode(t *testing.T) {
	var written []uint64
	for _, pods := range []int{10, 3000} {
		c, s := crowded(t, pods)
		place := placing(t, c, s)
		place() // makes room
		before := s.BytesWritten
		place()
		written = append(written, s.BytesWritten-before)
		requireEqual(t, c, s)
	}
	if written[0] != written[1] {
		t.Errorf("%d bytes written on a node with 10 pods, and %d with 3,000", written[0], written[1])
	}
}

// TestRemovedNode: the last row moves into the gap, and nothing else is written.
func TestRemovedNode(t *testing.T) {
	written := map[uint64]bool{}
	for _, nodes := range []int{100, 1_000} {
		c, s := cluster(t, nodes)
		last := s.Name(uint32(nodes - 1))
		before := s.BytesWritten
		c.RemoveNode(nodeName(7))
		c.UpdateSnapshot(s)
		written[s.BytesWritten-before] = true
		if row, ok := s.Row(last); !ok || row != 7 {
			t.Errorf("node %s is in row %d, %v; want 7", last, row, ok)
		}
		requireEqual(t, c, s)
	}
	if len(written) != 1 {
		t.Errorf("bytes written depend on the number of nodes: %v", written)
	}
}

func BenchmarkSnapshotUpdate(b *testing.B) {
	for _, nodes := range []int{100, 1_000, 15_000} {
		c, s := cluster(b, nodes)
		all := changes(b, c, s)
		for _, name := range []string{"pod", "node", "namespace"} {
			b.Run(fmt.Sprintf("nodes=%d/change=%s", nodes, name), func(b *testing.B) {
				all[name]()
				before := s.BytesWritten
				b.ReportAllocs()
				updates := 0
				for b.Loop() {
					all[name]()
					updates += 2
				}
				// An iteration is two updates.
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(updates), "ns/update")
				b.ReportMetric(float64(s.BytesWritten-before)/float64(updates), "written-B/update")
			})
		}
	}
}

func BenchmarkSnapshotOfCrowdedNode(b *testing.B) {
	for _, pods := range []int{10, 100, 3000} {
		c, s := crowded(b, pods)
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			place := placing(b, c, s)
			for b.Loop() {
				place()
			}
		})
	}
}

func BenchmarkSnapshotRebuild(b *testing.B) {
	c, s := cluster(b, 5_000)
	all := infos(c)
	for b.Loop() {
		s.Rebuild(all)
	}
}
