package nodevolumelimits

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is nodes and pods, and storage objects that refer to each other by few names.
type world struct {
	store  *storage.Store
	nodes  []*v1.Node
	placed []*v1.Pod
}

func (w *world) deps() Deps {
	return Deps{Claims: w.store, Volumes: w.store, Classes: w.store, CSINodes: w.store, Drivers: w.store, Attached: w.store, Changes: w.store}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(name)} }

func nodeOf(name string) *v1.Node { return &v1.Node{ObjectMeta: named(name)} }

func pod(name, node string, claims ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: named(name)}
	p.Spec.NodeName = node
	for _, c := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c},
		}})
	}
	return p
}

func claim(name, volume, class string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{ObjectMeta: named(name), Spec: v1.PersistentVolumeClaimSpec{VolumeName: volume, StorageClassName: &class}}
}

func volumeOf(name, driver string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: named(name)}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
	return pv
}

func attachment(name, node, volume, driver string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{ObjectMeta: named(name), Spec: storagev1.VolumeAttachmentSpec{
		NodeName: node, Attacher: driver, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}
}

func csiNode(name string, limit int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: named(name), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "d0", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}, {Name: "d1"},
	}}}
}

// change makes one change to the world.
func (w *world) change(t *rapid.T) {
	pick := func(label, prefix string, most int) string {
		return fmt.Sprintf("%s%d", prefix, rapid.IntRange(0, most).Draw(t, label))
	}
	write := func(object metav1.Object) {
		if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
			w.store.Delete(object)
			return
		}
		w.store.Set(object)
	}
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0:
		write(claim(pick("claim", "c", 3), rapid.SampledFrom([]string{"", "v0", "v1"}).Draw(t, "of volume"), pick("class", "s", 1)))
	case 1:
		write(volumeOf(pick("volume", "v", 1), pick("driver", "d", 1)))
	case 2:
		write(&storagev1.StorageClass{ObjectMeta: named(pick("class", "s", 1)), Provisioner: pick("driver", "d", 1)})
	case 3:
		write(csiNode(pick("node", "n", 3), int32(rapid.IntRange(0, 3).Draw(t, "limit"))))
	case 4:
		write(attachment(pick("attachment", "a", 2), pick("node", "n", 3), pick("volume", "v", 1), pick("driver", "d", 1)))
	case 5:
		name := pick("pod", "p", 5)
		w.placed = slices.DeleteFunc(slices.Clone(w.placed), func(p *v1.Pod) bool { return p.Name == name })
		if rapid.Bool().Draw(t, "comes") {
			w.placed = append(w.placed, pod(name, pick("node", "n", 3), pick("claim", "c", 3), pick("claim", "c", 3)))
		}
	case 6:
		name := pick("node", "n", 3)
		w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(n *v1.Node) bool { return n.Name == name })
		if rapid.Bool().Draw(t, "comes") {
			w.nodes = append(w.nodes, nodeOf(name))
		}
	}
}

// columns returns the counts and limits that differ from those of an empty row.
func (a *attached) columns(rows int) map[string]string {
	out := map[string]string{}
	for name, d := range a.drivers {
		for row := range rows {
			if row < len(d.count) && (d.count[row] != 0 || d.limit[row] != noLimit) {
				out[fmt.Sprintf("%s on %d", name, row)] = fmt.Sprintf("%d of %d", d.count[row], d.limit[row])
			}
		}
	}
	return out
}

// TestKept: the maintained data equals that of reading everything again.
func TestKept(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		w := &world{store: storage.New(), nodes: []*v1.Node{nodeOf("n0"), nodeOf("n1")}}
		cluster, kept := plugintest.NewCluster(), newAttached(w.deps())
		for range 40 {
			w.change(rt)
			if rapid.IntRange(0, 2).Draw(rt, "not looked at") == 0 {
				continue
			}
			s := cluster.Snapshot(w.nodes, w.placed)
			kept.update(s)
			fresh := newAttached(w.deps())
			fresh.update(s)
			if got, want := kept.columns(s.Len()), fresh.columns(s.Len()); !maps.Equal(got, want) {
				rt.Fatalf("columns %v, want %v", got, want)
			}
			for row := range s.Len() {
				if got, want := kept.byRow[row], fresh.byRow[row]; !maps.Equal(got.volumes, want.volumes) || !maps.Equal(got.limits, want.limits) {
					rt.Fatalf("row %d has %v, want %v", row, got, want)
				}
			}
			if !maps.EqualFunc(kept.dependent, fresh.dependent, maps.Equal[map[uint32]bool, map[uint32]bool]) {
				rt.Fatalf("dependent are %v, want %v", kept.dependent, fresh.dependent)
			}
		}
	})
}

// TestWork: a change reads as many pods as there are on the nodes that it affects.
func TestWork(t *testing.T) {
	const nodes, podsEach = 200, 10
	w := &world{store: storage.New()}
	for i := range nodes {
		name := fmt.Sprint("n", i)
		w.nodes = append(w.nodes, nodeOf(name))
		w.store.Set(csiNode(name, 20))
		for j := range podsEach {
			id := fmt.Sprint(i, "-", j)
			w.store.Set(claim("c"+id, "v"+id, ""))
			w.store.Set(volumeOf("v"+id, "d0"))
			w.placed = append(w.placed, pod("p"+id, name, "c"+id))
		}
	}
	cluster, kept := plugintest.NewCluster(), newAttached(w.deps())
	work := func(s *state.Snapshot) (pods int) {
		before := kept.podsRead
		kept.update(s)
		return kept.podsRead - before
	}
	if got := work(cluster.Snapshot(w.nodes, w.placed)); got != nodes*podsEach {
		t.Errorf("%d pods are read at first, want %d", got, nodes*podsEach)
	}
	for _, c := range []struct {
		name   string
		change func()
		pods   int
	}{
		{"nothing", func() {}, 0},
		{"a pod", func() { w.placed = append(w.placed, pod("more", "n7", "c7-0")) }, podsEach + 1},
		{"a claim", func() { w.store.Set(claim("c8-3", "v8-4", "")) }, podsEach},
		{"a volume", func() { w.store.Set(volumeOf("v9-3", "d1")) }, podsEach},
		{"a CSINode", func() { w.store.Set(csiNode("n10", 1)) }, podsEach},
		{"an attachment", func() { w.store.Set(attachment("a", "n11", "v9-3", "d1")) }, podsEach},
		{"a volume that is attached elsewhere too", func() { w.store.Set(volumeOf("v9-3", "d0")) }, 2 * podsEach},
		{"what is not in use", func() { w.store.Set(claim("other", "", "")) }, 0},
	} {
		c.change()
		if got := work(cluster.Snapshot(w.nodes, w.placed)); got != c.pods {
			t.Errorf("after a change of %s %d pods are read, want %d", c.name, got, c.pods)
		}
	}
}
