package dumps

import (
	"cmp"
	"fmt"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// namespaces is how many namespaces TestAdmission draws, each of two LimitRanges, two quotas and 12 pods.
const namespaces = 1500

// TestAdmission: what-if and simulate refuse the pods that LimitRanger and ResourceQuota of kube-apiserver refuse, and give the others the
// same requests and limits.
func TestAdmission(t *testing.T) {
	admitted, byLimits, byQuotas, changed, podLevel := 0, 0, 0, 0, 0
	first := seeded.Rand(t).Uint64()
	for i := range uint64(namespaces) {
		seed := first + i
		d := NewDrawer(seed, []int{0, 2, 8}[seed%3])
		known := &input.Known{Kinds: input.KnownKinds()}
		var quotas []v1.ResourceQuota
		for i := range 2 {
			if o, err := Create(d.Object("LimitRange", i), fmt.Sprint("l-", i)); err == nil && d.chance(70) {
				known.LimitRanges = append(known.LimitRanges, o.(*v1.LimitRange))
			}
			if o, err := Create(d.Object("ResourceQuota", i), fmt.Sprint("q-", i)); err == nil {
				q := o.(*v1.ResourceQuota)
				q.Status = v1.ResourceQuotaStatus{Hard: q.Spec.Hard.DeepCopy(), Used: v1.ResourceList{}}
				for name := range q.Spec.Hard {
					q.Status.Used[name] = resource.MustParse(one(d, "0", "1", "2"))
				}
				known.ResourceQuotas = append(known.ResourceQuotas, q)
				quotas = append(quotas, *q.DeepCopy())
			}
		}
		ours := known.Quotas(nil)
		for i := range 12 {
			pod := d.Object("Pod", i).(*v1.Pod)
			if d.chance(10) {
				deadline := int64(60)
				pod.Spec.ActiveDeadlineSeconds = &deadline
			}
			if d.chance(20) {
				d.podLevel(pod)
			}
			if _, _, err := Admit(pod, nil, nil); err != nil {
				continue // it is none, whatever the namespace has
			}
			own := pod.DeepCopy()
			own.Spec.Priority = new(int32)
			if err := input.Prepare("pod", v1.SchemeGroupVersion.WithKind("Pod"), own); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, pod.Name, err)
			}
			if _, bad := known.Admit(own); bad != nil {
				t.Fatalf("seed %d, %s: %v", seed, pod.Name, bad)
			}
			refusal := known.Refusal(own)
			if refusal != "" {
				byLimits++
			} else if refusal = ours.Charge(own); refusal != "" {
				byQuotas++
			}
			theirs, after, err := Admit(pod, known.LimitRanges, quotas)
			quotas = after
			if (err != nil) != (refusal != "") {
				t.Fatalf("seed %d, %s: kube-apiserver says %v, here it is %q", seed, pod.Name, err, refusal)
			}
			if err != nil {
				continue
			}
			admitted++
			was := resourcesOf(pod)
			for j, r := range resourcesOf(own) {
				got, want := *r, *resourcesOf(theirs)[j]
				if !sameAmounts(got.Requests, want.Requests) || !sameAmounts(got.Limits, want.Limits) {
					t.Fatalf("seed %d, %s: resources %+v, want %+v", seed, pod.Name, got, want)
				}
				if len(want.Requests)+len(want.Limits) > len(was[j].Requests)+len(was[j].Limits) {
					changed++
					if j == len(was)-1 {
						podLevel++
					}
				}
			}
		}
	}
	t.Logf("%d pods are admitted, with %d lists of resources that were added to, %d of them at pod level; %d are refused "+
		"by LimitRanges, %d by quotas",
		admitted, changed, podLevel, byLimits, byQuotas)
	if min(admitted, changed, byLimits, byQuotas) < 500 || podLevel < 100 {
		t.Error("too few of one kind")
	}
}

// resourcesOf returns the resources of containers, and last those at pod level.
func resourcesOf(pod *v1.Pod) (out []*v1.ResourceRequirements) {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			out = append(out, &list[i].Resources)
		}
	}
	return append(out, cmp.Or(pod.Spec.Resources, &v1.ResourceRequirements{}))
}

// sameAmounts compares thousandths: a kube-apiserver rounds to them, and the scheduler, too.
func sameAmounts(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return quantity.Milli(x) == quantity.Milli(y) })
}
