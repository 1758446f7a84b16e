package whatif_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// made is the metadata of a claim that was made for a pod.
func made(name, pod string) metav1.ObjectMeta {
	controls := true
	return metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(pod), Controller: &controls}},
	}
}

// onNode selects a node.
func onNode(name string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{name}}},
	}}}
}

// ephemeral is a pod with an ephemeral volume, and what it has made of it, bound to a volume on a node.
func ephemeral(name, node string) (func(*v1.Pod), []metav1.Object) {
	class, mode := "late", v1.PersistentVolumeFilesystem
	one := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	spec := v1.PersistentVolumeClaimSpec{
		StorageClassName: &class, VolumeMode: &mode, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: v1.VolumeResourceRequirements{Requests: one},
	}
	late := storagev1.VolumeBindingWaitForFirstConsumer
	claim := &v1.PersistentVolumeClaim{ObjectMeta: made(name+"-v", name), Spec: spec, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}
	claim.Spec.VolumeName = "volume"
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	return func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: spec}}}}}
		}, []metav1.Object{
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "driver", VolumeBindingMode: &late}, claim,
			&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume"}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}, Spec: v1.PersistentVolumeSpec{
				StorageClassName: class, VolumeMode: &mode, AccessModes: spec.AccessModes, Capacity: one, ClaimRef: &v1.ObjectReference{Namespace: "ns", Name: claim.Name, UID: claim.UID},
				NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
					MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
				}}}},
				PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "driver", VolumeHandle: "h"}},
			}},
		}
}

// uses makes a pod use a resource claim, which comes from a template or has a name of its own.
func uses(claim string, template bool) func(*v1.Pod) {
	return func(p *v1.Pod) {
		c := v1.PodResourceClaim{Name: "d", ResourceClaimName: &claim}
		if template {
			c.ResourceClaimName, c.ResourceClaimTemplateName = nil, &claim
			p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "d", ResourceClaimName: &claim}}
		}
		p.Spec.ResourceClaims = []v1.PodResourceClaim{c}
	}
}

// devices are a device of each node, and a claim that has that of a node and is used by pods.
func devices(meta metav1.ObjectMeta, node string, users ...string) []metav1.Object {
	request := resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "class", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: meta, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}}
	if node != "" {
		claim.Status.Allocation = &resourcev1.AllocationResult{
			Devices:      resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "driver", Pool: node, Device: "device"}}},
			NodeSelector: onNode(node),
		}
	}
	for _, user := range users {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
	}
	out := []metav1.Object{claim, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}}
	for _, name := range []string{"a", "b"} {
		out = append(out, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "driver", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "device"}},
		}})
	}
	return out
}

// TestRemovedClaims: pods of a removed node leave it with what was made for them alone, and free what they used. Those that a
// controller creates instead have claims of their own.
func TestRemovedClaims(t *testing.T) {
	volume, storage := ephemeral("set", "a")
	shared := metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: "shared"}
	selects := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
	for name, c := range map[string]struct {
		change  []func(*v1.Pod) // of the pod on the removed node
		storage []metav1.Object
		want    string
		helps   bool // to leave out the selector
	}{
		"ephemeral volume":          {[]func(*v1.Pod){volume}, storage, "set Fits b", false},
		"claim from a template":     {[]func(*v1.Pod){uses("made", true)}, devices(made("made", "set"), "a", "set"), "set Fits b", false},
		"claim of a pod that stays": {[]func(*v1.Pod){uses("shared", false)}, devices(shared, "a", "set", "elsewhere"), "set DoesNotFit", false},
		"claim of a pod that left":  {[]func(*v1.Pod){uses("shared", false)}, devices(shared, "a", "set", "agent"), "set Fits b", false},
		"claim of an agent": {
			[]func(*v1.Pod){uses("made", true)}, append(devices(made("made", "set"), "a", "set"), devices(made("theirs", "agent"), "b", "agent")[0]), "set Fits b", false,
		},
		"one change": {[]func(*v1.Pod){uses("made", true), selects}, devices(made("made", "set"), "a", "set"), "set DoesNotFit", true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := full()
			cluster.Storage = c.storage
			cluster.Bound[0] = state.NewPod(pod("set", "2", 0, append(c.change, on("a"), ownedBy("ReplicaSet"))...))
			a := ask(t, cluster, &whatif.Request{RemoveNodes: []string{"a"}, Explain: true})
			if got := a.Displaced[0]; got.Name+" "+string(got.Code)+map[bool]string{true: " " + got.Node}[got.Node != ""] != c.want {
				t.Errorf("%+v, want %s", got, c.want)
			}
			if len(a.Explanations) > 0 && (a.Explanations[0].Change != nil) != c.helps {
				t.Errorf("%+v", a.Explanations[0].Change)
			}
		})
	}
}

// TestAskPodClaims: a pending pod has the claims that were made for it.
func TestAskPodClaims(t *testing.T) {
	volume, storage := ephemeral("p", "b")
	for name, c := range map[string]struct {
		change  func(*v1.Pod)
		storage []metav1.Object
	}{
		"ephemeral volume":      {volume, storage},
		"claim from a template": {uses("made", true), devices(made("made", "p"), "")},
	} {
		cluster := full()
		cluster.Storage = c.storage
		got, _, err := cluster.AskPod(t.Context(), pod("p", "2", 0, c.change))
		if err != nil || got.Code != whatif.Fits || got.Node != "b" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		got, e, err := cluster.AskPod(t.Context(), pod("p", "5", 0, c.change))
		if err != nil || got.Code != whatif.DoesNotFit || e == nil || e.Change == nil || e.Change.Kind != report.LowerRequest {
			t.Errorf("%s: %+v, %+v, %v", name, got, e, err)
		}
	}
}

// TestAskedClaims: a question brings the resource claims that its pods need, or templates of them. A claim that the cluster
// has stays as it is
// there.
func TestAskedClaims(t *testing.T) {
	shared := metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: "shared"}
	inUse := devices(shared, "a", "elsewhere")
	free := devices(shared, "")[0].(*resourcev1.ResourceClaim)
	other := devices(metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "other"}, "")[0].(*resourcev1.ResourceClaim)
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: shared, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: free.Spec}}
	for name, c := range map[string]struct {
		ask  whatif.Request
		want string
	}{
		"the cluster's": {whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0, uses("shared", false))}}}, "p DoesNotFit"},
		"the same again": {whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0, uses("shared", false))}},
			Related: input.Related{ResourceClaims: []*resourcev1.ResourceClaim{free}}}, "p DoesNotFit"},
		"another claim": {whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0, uses("other", false))}},
			Related: input.Related{ResourceClaims: []*resourcev1.ResourceClaim{other}}}, "p Fits b"},
		"no template": {whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0, uses("shared", true))}}}, "p Gated"},
		"a template": {whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "2", 0, uses("shared", true))}},
			Related: input.Related{ResourceClaimTemplates: []*resourcev1.ResourceClaimTemplate{template}}}, "p Fits b"},
		"one device, each": {whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "1", 0, uses("shared", true)), Count: 2}},
			Related: input.Related{ResourceClaimTemplates: []*resourcev1.ResourceClaimTemplate{template}}}, "p-0 Fits b; p-1 DoesNotFit"},
	} {
		cluster := full()
		cluster.Storage = inUse
		if got := told(ask(t, cluster, &c.ask)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestExplainTaken: pods that fit keep their devices while changes of others are tried.
func TestExplainTaken(t *testing.T) {
	cluster := full()
	cluster.Nodes[1].Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	free := devices(metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: "shared"}, "")
	cluster.Storage = append(free[1:], &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: free[0].(*resourcev1.ResourceClaim).Spec},
	})
	tolerates := func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }
	for _, taken := range []bool{false, true} {
		r := &whatif.Request{Explain: true, Pods: []whatif.Pods{{Pod: pod("q", "1", 0, uses("t", true))}}}
		if taken {
			r.Pods = append(r.Pods, whatif.Pods{Pod: pod("p", "1", 9, uses("t", true), tolerates)})
		}
		a := ask(t, cluster, r)
		if len(a.Explanations) != 1 || (a.Explanations[0].Change == nil) != taken {
			t.Errorf("taken: %v: %s, %+v", taken, told(a), a.Explanations)
		}
	}
}
