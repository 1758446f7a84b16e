package volumerestrictions

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(name)} }

func pod(name, node, claim, disk string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: named(name), Spec: v1.PodSpec{NodeName: node}}
	if claim != "" {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	if disk != "" {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: disk}}})
	}
	return p
}

// TestKept: the maintained data equals that of reading everything again, and is empty when all
// pods are gone.
func TestKept(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		nodes := []*v1.Node{{ObjectMeta: named("n0")}, {ObjectMeta: named("n1")}, {ObjectMeta: named("n2")}}
		var placed []*v1.Pod
		cluster, kept := plugintest.NewCluster(), newUsage()
		for range 30 {
			name := fmt.Sprint("p", rapid.IntRange(0, 5).Draw(rt, "pod"))
			placed = slices.DeleteFunc(slices.Clone(placed), func(p *v1.Pod) bool { return p.Name == name })
			if rapid.Bool().Draw(rt, "comes") {
				placed = append(placed, pod(name, fmt.Sprint("n", rapid.IntRange(0, 3).Draw(rt, "node")),
					rapid.SampledFrom([]string{"", "c0", "c1"}).Draw(rt, "claim"), rapid.SampledFrom([]string{"", "d0", "d1"}).Draw(rt, "disk")))
			}
			if rapid.IntRange(0, 5).Draw(rt, "nodes change") == 0 {
				nodes = append(slices.Clone(nodes[1:]), nodes[0])
			}
			s := cluster.Snapshot(nodes, placed)
			kept.update(s)
			fresh := newUsage()
			fresh.update(s)
			if !maps.Equal(kept.claims, fresh.claims) {
				rt.Fatalf("claims %v, want %v", kept.claims, fresh.claims)
			}
			for _, d := range []string{"d0", "d1"} {
				want := []mount{{disk: disk{kind: "gce", id: d}}}
				if got, want := kept.taken(want), fresh.taken(want); !slices.Equal(got, want) {
					rt.Fatalf("disk %s is taken on %v, want %v", d, got, want)
				}
			}
		}
		kept.update(cluster.Snapshot(nodes, nil))
		if len(kept.claims)+len(kept.disks) != 0 {
			rt.Fatalf("left are %v and %v", kept.claims, kept.disks)
		}
	})
}

// TestWork: an added pod costs reading the pods of its node.
func TestWork(t *testing.T) {
	const count, each = 100, 10
	var nodes []*v1.Node
	var placed []*v1.Pod
	for i := range count {
		node := fmt.Sprint("n", i)
		nodes = append(nodes, &v1.Node{ObjectMeta: named(node)})
		for j := range each {
			placed = append(placed, pod(fmt.Sprint(i, "-", j), node, fmt.Sprint("c", i), ""))
		}
	}
	cluster, u := plugintest.NewCluster(), newUsage()
	u.update(cluster.Snapshot(nodes, placed))
	if u.podsRead != count*each {
		t.Errorf("%d pods are read at first, want %d", u.podsRead, count*each)
	}
	u.podsRead = 0
	u.update(cluster.Snapshot(nodes, append(placed, pod("more", "n3", "", "d"))))
	if u.podsRead != each+1 {
		t.Errorf("%d pods are read for one more, want %d", u.podsRead, each+1)
	}
}
