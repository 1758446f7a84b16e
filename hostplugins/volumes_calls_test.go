package hostplugins_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

func selecting(key, value string) *v1.VolumeNodeAffinity {
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
	}}}}
}

// claiming returns a pod with a volume for each claim.
func claiming(name, node string, claims ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}}
	for _, claim := range claims {
		v := v1.Volume{Name: claim}
		v.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
	return p
}

// largeVolumeWorld has nodes in three zones, each with two free local disks and a pod with a
// CSI volume, and a storage capacity for each zone.
func largeVolumeWorld(nodes int) *volumeWorld {
	w := &volumeWorld{store: storage.New()}
	waits, yes := storagev1.VolumeBindingWaitForFirstConsumer, true
	gibi := func(n int64) v1.ResourceList {
		return v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(n<<30, resource.BinarySI)}
	}
	const driver = "csi.example.com"
	for _, class := range []string{"local", "pool"} {
		w.store.Set(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: driver, VolumeBindingMode: &waits})
	}
	w.store.Set(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}})
	claim := func(name, class, volume string) {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		c.Spec.StorageClassName, c.Spec.VolumeName = &class, volume
		c.Spec.AccessModes, c.Spec.Resources.Requests = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}, gibi(10)
		if volume != "" {
			c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		}
		w.store.Set(c)
	}
	volume := func(name, class, key, value string) {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		pv.Spec.StorageClassName, pv.Spec.Capacity, pv.Spec.NodeAffinity = class, gibi(10), selecting(key, value)
		pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
		pv.Spec.CSI, pv.Status.Phase = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}, v1.VolumeAvailable
		if key != v1.LabelHostname {
			pv.Labels[key] = value
		}
		w.store.Set(pv)
	}
	for i := range 3 {
		zone := fmt.Sprint("zone-", i)
		limit := gibi(int64(100 * i))[v1.ResourceStorage]
		w.store.Set(&storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: zone}, StorageClassName: "pool", Capacity: &limit,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: zone}},
		})
	}
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
		zone := fmt.Sprint("zone-", i%3)
		n.Labels = map[string]string{v1.LabelHostname: n.Name, v1.LabelTopologyZone: zone}
		w.nodes = append(w.nodes, n)
		most := int32(1 + i%4)
		w.store.Set(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: driver, NodeID: n.Name, Allocatable: &storagev1.VolumeNodeResources{Count: &most}},
		}}})
		for j := range 2 {
			volume(fmt.Sprintf("local-%d-%d", i, j), "local", v1.LabelHostname, n.Name)
		}
		used := fmt.Sprintf("used-%d", i)
		volume(used, "pool", v1.LabelTopologyZone, zone)
		claim(used, "pool", used)
		w.placed = append(w.placed, claiming(used, n.Name, used))
	}
	volume("bound", "pool", v1.LabelTopologyZone, "zone-1")
	claim("bound", "pool", "bound")
	claim("local", "local", "")
	claim("provisioned", "pool", "")
	return w
}

// demanding is a pod for which all volume plugins have work to do.
func demanding() *v1.Pod {
	p := claiming("new", "", "bound", "local", "provisioned")
	disk := v1.Volume{Name: "disk"}
	disk.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: "d"}
	p.Spec.Volumes = append(p.Spec.Volumes, disk)
	return p
}

// TestVolumesAllocations checks that the number of allocations of the volume plugins' filters
// and scores does not grow with the number of rows, once a pod's columns have been allocated.
func TestVolumesAllocations(t *testing.T) {
	measure := func(nodes int) map[string]float64 {
		w, pod := largeVolumeWorld(nodes), demanding()
		plugins := w.plugins(t, &configv1.VolumeBindingArgs{Shape: []configv1.UtilizationShapePoint{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}})
		s, out := w.snapshot(), map[string]float64{}
		rows := rowsOf(s)
		var v plugin.Verdicts
		for _, name := range volumePlugins() {
			c := cycleOf(s, pod)
			if _, status := plugins[name].(plugin.PreFilter).PreFilter(c); !status.Success() {
				t.Fatalf("%s: %v", name, status)
			}
			f := plugins[name].(plugin.Filter)
			filter := func() {
				v.Reset(len(rows))
				f.Filter(c, rows, &v)
			}
			filter() // this allocates the columns
			out["filter "+name] = testing.AllocsPerRun(10, filter)
			if p, ok := plugins[name].(plugin.Score); ok {
				scores := make([]int64, len(rows))
				out["score "+name] = testing.AllocsPerRun(10, func() {
					clear(scores)
					p.Score(c, rows, scores)
				})
				if slices.Max(scores) == 0 {
					t.Errorf("%s gives no scores", name)
				}
			}
		}
		return out
	}
	small, large := measure(300), measure(1200)
	for name, allocations := range large {
		if allocations > small[name]+2 { // with the race detector some differ by one
			t.Errorf("%s allocates %v times for 300 rows and %v times for 1,200", name, small[name], allocations)
		}
		if limit := 24.0; allocations > limit { // for the pod's four volumes
			t.Errorf("%s allocates %v times, want at most %v", name, allocations, limit)
		}
	}
}

// TestVolumesWithoutPreFilter: with a profile that enables the volume filters without their
// preFilter, a filter returns an error that says so, or works without.
func TestVolumesWithoutPreFilter(t *testing.T) {
	w := largeVolumeWorld(3)
	plugins := w.plugins(t, nil)
	for name, missing := range map[string]string{
		"VolumeRestrictions": "there is no PreFilter state: enable VolumeRestrictions at preFilter too",
		"NodeVolumeLimits":   "",
		"VolumeBinding":      "there is no PreFilter state: enable VolumeBinding at preFilter too",
		"VolumeZone":         "",
	} {
		with := ask(plugins[name], cycleOf(w.snapshot(), demanding()))
		c := cycleOf(w.snapshot(), demanding())
		without := verdicts(plugins[name].(plugin.Filter), c, rowsOf(c.Snapshot))
		want := with.nodes
		if missing != "" {
			want = slices.Repeat([]string{inWords(abi.Error, []string{missing})}, 3)
		}
		if !slices.Equal(without, want) {
			t.Errorf("%s says %v, want %v", name, without, want)
		}
	}
}

// BenchmarkVolumes schedules a pod with four volumes on 5,000 nodes with 5,000 pods with
// volumes and 10,000 free volumes.
func BenchmarkVolumes(b *testing.B) {
	w := largeVolumeWorld(5000)
	plugins, s, pod := w.plugins(b, nil), w.snapshot(), demanding()
	rows := rowsOf(s)
	for _, name := range volumePlugins() {
		b.Run(name, func(b *testing.B) {
			var v plugin.Verdicts
			b.ReportAllocs()
			for b.Loop() {
				c := cycleOf(s, pod)
				if _, status := plugins[name].(plugin.PreFilter).PreFilter(c); !status.Success() {
					b.Fatal(status)
				}
				v.Reset(len(rows))
				plugins[name].(plugin.Filter).Filter(c, rows, &v)
			}
		})
	}
}
