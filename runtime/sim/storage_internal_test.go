package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
)

func gibi(n int64) v1.ResourceList {
	return v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(n<<30, resource.BinarySI)}
}

// claimOf returns a claim for n GiB.
func claimOf(class string, n int64, volume string) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "u"}}
	c.Spec.StorageClassName, c.Spec.VolumeName, c.Spec.Resources.Requests = &class, volume, gibi(n)
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	return c
}

func sent(c *v1.PersistentVolumeClaim, node string) *v1.PersistentVolumeClaim {
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, annSelectedNode, node)
	return c
}

// volumeOf returns a volume of n GiB, bound to claim ref unless that is empty.
func volumeOf(name, class string, n int64, ref string, uid types.UID) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pv.Spec.StorageClassName, pv.Spec.Capacity = class, gibi(n)
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	if ref != "" {
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "ns", Name: ref, UID: uid}
	}
	return pv
}

// theClasses returns one class for each way to get a volume.
func theClasses() []metav1.Object {
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	}
	return []metav1.Object{
		class("now", "csi.example.com", storagev1.VolumeBindingImmediate),
		class("by-hand", "kubernetes.io/no-provisioner", storagev1.VolumeBindingImmediate),
		class("waits", "csi.example.com", storagev1.VolumeBindingWaitForFirstConsumer),
		class("disk", "kubernetes.io/gce-pd", storagev1.VolumeBindingWaitForFirstConsumer),
	}
}

// pool returns the capacity of a zone: what is left, and the largest volume, in GiB; -1 if not
// given.
func pool(zone string, left, largest int64) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: zone}, StorageClassName: "waits"}
	c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{"zone": zone}}
	if left >= 0 {
		c.Capacity = new(gibi(left)[v1.ResourceStorage])
	}
	if largest >= 0 {
		c.MaximumVolumeSize = new(gibi(largest)[v1.ResourceStorage])
	}
	return c
}

// outcome describes claim ns/c and the capacities.
func (v *volumes) outcome() string {
	var b strings.Builder
	claim := v.store.Claim("ns", "c")
	if claim.Spec.VolumeName == "" || claim.Status.Phase != v1.ClaimBound {
		fmt.Fprintf(&b, "no volume")
	} else if pv := v.store.Volume(claim.Spec.VolumeName); pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID || pv.Status.Phase != v1.VolumeBound {
		fmt.Fprintf(&b, "a volume that is not its own")
	} else {
		fmt.Fprintf(&b, "%s", pv.Name)
		if csi := pv.Spec.CSI; csi != nil {
			fmt.Fprintf(&b, " by %s", csi.Driver)
		}
		if a := pv.Spec.NodeAffinity; a != nil {
			for _, r := range a.Required.NodeSelectorTerms[0].MatchExpressions {
				fmt.Fprintf(&b, " at %s %s %v", r.Key, r.Operator, r.Values)
			}
		}
	}
	for _, c := range v.store.CapacitiesOf("waits") {
		fmt.Fprintf(&b, ", %s has %v of at most %v", c.Name, c.Capacity, c.MaximumVolumeSize)
	}
	return b.String()
}

// TestControllers: what the controllers do with a claim for 2 GiB.
func TestControllers(t *testing.T) {
	nodes := []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "z", "rack": "r"}}}, {ObjectMeta: metav1.ObjectMeta{Name: "bare"}}}
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "other.example.com", TopologyKeys: []string{"rack"}}, {Name: "csi.example.com", TopologyKeys: []string{"zone", "row"}},
	}}}
	for _, test := range []struct {
		name, want string
		objects    []metav1.Object
	}{
		{"smallest that will do", "b", []metav1.Object{claimOf("now", 2, ""), volumeOf("a", "now", 4, "", ""), volumeOf("b", "now", 3, "", ""), volumeOf("c", "now", 1, "", "")}},
		{"one that names it", "a", []metav1.Object{claimOf("now", 2, ""), volumeOf("a", "now", 4, "c", ""), volumeOf("b", "now", 3, "", "")}},
		{"one of a claim of that name that is gone", "b", []metav1.Object{claimOf("now", 2, ""), volumeOf("a", "now", 2, "c", "old"), volumeOf("b", "now", 3, "", "")}},
		{"none but of another class", "pvc-u by csi.example.com", []metav1.Object{claimOf("now", 2, ""), volumeOf("a", "by-hand", 4, "", "")}},
		{"none and nobody to make one", "no volume", []metav1.Object{claimOf("by-hand", 2, ""), volumeOf("a", "by-hand", 1, "", "")}},
		{"no class", "no volume", []metav1.Object{claimOf("none", 2, "")}},
		{"names a volume", "a", []metav1.Object{claimOf("by-hand", 2, "a"), volumeOf("a", "by-hand", 1, "", "")}},
		{"names a volume that names it", "a", []metav1.Object{claimOf("waits", 2, "a"), volumeOf("a", "waits", 1, "c", "u")}},
		{"names a volume of another", "no volume", []metav1.Object{claimOf("by-hand", 2, "a"), volumeOf("a", "by-hand", 2, "d", "")}},
		{"names no volume that there is", "no volume", []metav1.Object{claimOf("now", 2, "a")}},
		{"waits", "no volume", []metav1.Object{claimOf("waits", 2, ""), volumeOf("a", "waits", 2, "", "")}},
		{"waits, and a volume names it", "a", []metav1.Object{claimOf("waits", 2, ""), volumeOf("a", "waits", 2, "c", "")}},
		{"waits for a node that is not there", "no volume", []metav1.Object{sent(claimOf("waits", 2, ""), "m")}},
		{"sent to a node", "pvc-u by csi.example.com at zone In [z]", []metav1.Object{csi, sent(claimOf("waits", 2, ""), "n")}},
		{"sent to a node without a driver", "pvc-u by csi.example.com", []metav1.Object{csi, sent(claimOf("waits", 2, ""), "bare")}},
		{"provisioner that became a driver", "pvc-u by pd.csi.storage.gke.io", []metav1.Object{csi, sent(claimOf("disk", 2, ""), "n")}},
		{
			"from a pool that has room", "pvc-u by csi.example.com at zone In [z], z has 3Gi of at most 3Gi, zz has 9Gi of at most <nil>",
			[]metav1.Object{csi, sent(claimOf("waits", 2, ""), "n"), pool("z", 5, 4), pool("zz", 9, -1)},
		},
		{
			"from a pool with room for more such", "pvc-u by csi.example.com at zone In [z], z has 5Gi of at most 4Gi",
			[]metav1.Object{csi, sent(claimOf("waits", 2, ""), "n"), pool("z", 7, 4)},
		},
		{
			"from a pool of unknown size", "pvc-u by csi.example.com at zone In [z], z has <nil> of at most 2Gi",
			[]metav1.Object{csi, sent(claimOf("waits", 2, ""), "n"), pool("z", -1, 2)},
		},
		{
			"pools are too small", "pvc-u by csi.example.com at zone In [z], z has 9Gi of at most 1Gi",
			[]metav1.Object{csi, sent(claimOf("waits", 2, ""), "n"), pool("z", 9, 1)},
		},
	} {
		v := newVolumes(&apiServer{config: &Config{}}, nodes)
		all := append(theClasses(), test.objects...)
		before := make([]any, len(all))
		for i, o := range all {
			before[i] = o.(runtime.Object).DeepCopyObject()
		}
		if err := v.setUp(all); err != nil {
			t.Fatal(err)
		}
		if got := v.outcome(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		for i, o := range all {
			if !equality.Semantic.DeepEqual(o, before[i]) {
				t.Errorf("%s: the input's %s has changed", test.name, o.GetName())
			}
		}
	}
	if err := newVolumes(&apiServer{config: &Config{}}, nil).setUp([]metav1.Object{nodes[0]}); err == nil || err.Error() != "*v1.Node is not a storage object: leave it out of Config.Storage" {
		t.Errorf("a node among storage objects: %v", err)
	}
}

// TestWrites: the API accepts a write only for the latest version, and waiting ends at once.
func TestWrites(t *testing.T) {
	v := newVolumes(&apiServer{config: &Config{}}, []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	if err := v.setUp(append(theClasses(), claimOf("waits", 2, ""), volumeOf("a", "waits", 2, "", ""))); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	pv := v.store.Volume("a").DeepCopy()
	pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "ns", Name: "c", UID: "u"}
	written, err := v.UpdateVolume(ctx, pv)
	if err != nil || written.ResourceVersion == pv.ResourceVersion || v.outcome() != "a" {
		t.Errorf("a volume for the claim: %v, %v, %s", written, err, v.outcome())
	}
	if _, err := v.UpdateVolume(ctx, pv); err == nil || err.Error() != "volume a has changed" {
		t.Errorf("an old volume: %v", err)
	}
	if _, err := v.UpdateVolume(ctx, volumeOf("b", "", 1, "", "")); err == nil {
		t.Error("a missing volume was updated")
	}
	if _, err := v.UpdateClaim(ctx, claimOf("waits", 2, "")); err == nil || err.Error() != "claim ns/c has changed" {
		t.Errorf("an old claim: %v", err)
	}
	for _, test := range []struct {
		done bool
		err  error
		want error
	}{{true, nil, nil}, {false, nil, context.DeadlineExceeded}, {false, context.Canceled, context.Canceled}} {
		if err := v.Await(ctx, 0, func() (bool, error) { return test.done, test.err }); !errors.Is(err, test.want) {
			t.Errorf("awaiting %v, %v: %v", test.done, test.err, err)
		}
	}
}

// TestEphemeralClaims: a pod's ephemeral volume gets a claim of the default class, once, and
// the claim outlives the pod.
func TestEphemeralClaims(t *testing.T) {
	v := newVolumes(&apiServer{config: &Config{}}, []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	byDefault := theClasses()[2].(*storagev1.StorageClass)
	byDefault.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	if err := v.setUp([]metav1.Object{byDefault}); err != nil {
		t.Fatal(err)
	}
	pod := func(name, node string) *v1.Pod {
		template := &v1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
		template.Spec.Resources.Requests = gibi(2)
		volume := v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: template}}}
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node, Volumes: []v1.Volume{volume}}}
	}
	waiting := pod("p", "")
	v.appears(waiting)
	claim := v.store.Claim("ns", "p-scratch")
	if claim == nil || ephemeral.VolumeIsForPod(waiting, claim) != nil || claim.Labels["a"] != "b" || *claim.Spec.StorageClassName != "waits" || claim.Spec.VolumeName != "" {
		t.Errorf("the claim is %+v", claim)
	}
	v.appears(waiting)
	if v.store.Claim("ns", "p-scratch") != claim {
		t.Error("the claim was made again")
	}
	if !v.HasPod("ns", "p") || v.HasPod("ns", "q") {
		t.Error("pods are mixed up")
	}
	v.disappears(waiting)
	if v.HasPod("ns", "p") || v.store.Claim("ns", "p-scratch") == nil {
		t.Error("the pod is there, or its claim is not")
	}
	v.appears(pod("placed", "n"))
	if claim := v.store.Claim("ns", "placed-scratch"); claim == nil || claim.Status.Phase != v1.ClaimBound {
		t.Errorf("the claim of a pod on a node is %+v", claim)
	}
}
