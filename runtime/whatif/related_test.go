package whatif_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// mounts makes a pod mount a claim.
func mounts(claim string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v",
			VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
}

// TestRelatedStorage: storage objects and devices of the question count. Claims, volumes and classes that the cluster has stay as
// they are there, and the answer says which of them differ. Recordings have no parameters of classes.
func TestRelatedStorage(t *testing.T) {
	volumeOn := func(node string) (*storagev1.StorageClass, *v1.PersistentVolumeClaim, *v1.PersistentVolume) {
		_, all := ephemeral("set", node)
		return all[0].(*storagev1.StorageClass), all[1].(*v1.PersistentVolumeClaim), all[2].(*v1.PersistentVolume)
	}
	class, bound, onA := volumeOn("a")
	_, _, onB := volumeOn("b")
	isDefault := class.DeepCopy()
	isDefault.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: bound.Name}, Spec: *bound.Spec.DeepCopy()}
	claim.Spec.VolumeName, claim.Spec.StorageClassName = "", nil
	claims, classes := []*v1.PersistentVolumeClaim{claim}, []*storagev1.StorageClass{isDefault}
	keep := v1.PersistentVolumeReclaimDelete
	given := class.DeepCopy()
	isDefault.ReclaimPolicy, given.ReclaimPolicy = &keep, &keep
	other, no, topologies, fast := given.DeepCopy(), isDefault.DeepCopy(), isDefault.DeepCopy(), isDefault.DeepCopy()
	other.Provisioner = "other"
	fast.Parameters = map[string]string{"type": "fast"}
	no.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "false"}
	topologies.AllowedTopologies = []v1.TopologySelectorTerm{{
		MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelHostname, Values: []string{"a"}}},
	}}
	noDefault, onlyA := []*storagev1.StorageClass{no}, []*storagev1.StorageClass{topologies}
	all := devices(metav1.ObjectMeta{Namespace: "ns", Name: "d"}, "")
	asks := []*resourcev1.ResourceClaim{all[0].(*resourcev1.ResourceClaim)}
	hardware := []*resourcev1.DeviceClass{all[1].(*resourcev1.DeviceClass)}
	slices := []*resourcev1.ResourceSlice{all[3].(*resourcev1.ResourceSlice)}
	for name, c := range map[string]struct {
		cluster []metav1.Object
		pod     func(*v1.Pod)
		related input.Related
		want    string
		kept    string
	}{
		"no class":      {nil, mounts(claim.Name), input.Related{PersistentVolumeClaims: claims}, "p DoesNotFit", ""},
		"default class": {nil, mounts(claim.Name), input.Related{PersistentVolumeClaims: claims, StorageClasses: classes}, "p Fits b", ""},
		"two of one name": {nil, mounts(claim.Name), input.Related{PersistentVolumeClaims: append(claims, claims...),
			StorageClasses: classes}, "p Fits b", ""},
		"volume": {nil, mounts(claim.Name), input.Related{PersistentVolumeClaims: []*v1.PersistentVolumeClaim{bound},
			PersistentVolumes: []*v1.PersistentVolume{onB}}, "p Fits b", ""},
		"volume elsewhere": {nil, mounts(claim.Name), input.Related{PersistentVolumeClaims: []*v1.PersistentVolumeClaim{bound},
			PersistentVolumes: []*v1.PersistentVolume{onA}}, "p DoesNotFit", ""},
		"bound already": {
			[]metav1.Object{class, bound, onA}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, PersistentVolumes: []*v1.PersistentVolume{onB}, StorageClasses: classes}, "p DoesNotFit",
			"StorageClass late (reclaimPolicy); PersistentVolume volume (spec)",
		},
		"becomes the default": {[]metav1.Object{given, onA}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, StorageClasses: classes}, "p Fits b", ""},
		"is no longer the default": {[]metav1.Object{isDefault}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, StorageClasses: noDefault}, "p DoesNotFit", ""},
		"default for a claim of the cluster": {[]metav1.Object{given, claim}, mounts(claim.Name),
			input.Related{StorageClasses: classes}, "p Fits b", ""},
		"other provisioner, refused": {[]metav1.Object{other}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, StorageClasses: classes}, "p DoesNotFit", "StorageClass late (provisioner)"},
		"other parameters, refused": {[]metav1.Object{given}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, StorageClasses: []*storagev1.StorageClass{fast}}, "p DoesNotFit", "StorageClass late (parameters)"},
		"recorded without parameters": {[]metav1.Object{given}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, StorageClasses: []*storagev1.StorageClass{fast}}, "p Fits b", ""},
		"other topologies": {[]metav1.Object{isDefault}, mounts(claim.Name),
			input.Related{PersistentVolumeClaims: claims, StorageClasses: onlyA}, "p DoesNotFit", ""},
		"no device class": {nil, uses("d", false), input.Related{ResourceClaims: asks, ResourceSlices: slices}, "p DoesNotFit", ""},
		"no devices":      {nil, uses("d", false), input.Related{ResourceClaims: asks, DeviceClasses: hardware}, "p DoesNotFit", ""},
		"devices": {nil, uses("d", false), input.Related{ResourceClaims: asks, DeviceClasses: hardware,
			ResourceSlices: slices}, "p Fits b", ""},
		"cluster's device": {all[3:], uses("d", false), input.Related{ResourceClaims: asks, DeviceClasses: hardware}, "p Fits b", ""},
	} {
		cluster := full()
		cluster.Storage, cluster.Recorded = c.cluster, strings.HasPrefix(name, "recorded")
		answer := ask(t, cluster, &whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "1", 0, c.pod)}}, Related: c.related})
		if got := told(answer); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if kept := strings.Join(answer.NotApplied, "; "); kept != c.kept {
			t.Errorf("%s: kept as in the cluster are %q, want %q", name, kept, c.kept)
		}
	}
}

// TestRelatedNamespaces: labels of a namespace are those of the cluster and of the question.
func TestRelatedNamespaces(t *testing.T) {
	ns := func(labels map[string]string) []*v1.Namespace {
		return []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: labels}}}
	}
	away := func(p *v1.Pod) { // from the pods on a
		p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "a"}
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x", "tier": "1"}},
		}}}}
	}
	for asked, want := range map[string]string{"1": "p DoesNotFit", "2": "p Fits a"} {
		cluster := full()
		cluster.Namespaces = ns(map[string]string{"team": "x", "tier": "3"})
		r := &whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "0", 0, away)}},
			Related: input.Related{Namespaces: ns(map[string]string{"tier": asked})}}
		if got := told(ask(t, cluster, r)); !strings.HasPrefix(got, want) {
			t.Errorf("tier %s: %s, want %s", asked, got, want)
		}
		if cluster.Namespaces[0].Labels["tier"] != "3" {
			t.Error("the cluster's namespace has changed")
		}
	}
}

// TestRelatedBudgets: budgets of the question protect pods of the cluster, and replace the cluster's.
func TestRelatedBudgets(t *testing.T) {
	none := intstr.FromInt32(0)
	budget := func(of string) []*policyv1.PodDisruptionBudget {
		return []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "most"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": of}},
			}}}
	}
	for of, victim := range map[string]string{"x": "[ns/y]", "y": "[ns/x]"} {
		cluster := full()
		cluster.Bound, cluster.PodDisruptionBudgets = nil, budget(strings.Trim(victim, "[ns/]"))
		for _, app := range []string{"x", "y"} {
			cluster.Bound = append(cluster.Bound, state.NewPod(pod(app, "2", 0, on("a"),
				func(p *v1.Pod) { p.Labels = map[string]string{"app": app} })))
		}
		toA := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "a"} }
		r := &whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 9, toA)}}, Related: input.Related{PodDisruptionBudgets: budget(of)}}
		if got, want := told(ask(t, cluster, r)), "p FitsAfterPreemption a for "+victim; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
}
