package dumps

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// ofPolicy draws an object of a kind that says what pods may do.
func (d *Drawer) ofPolicy(kind string, i int) runtime.Object {
	switch kind {
	case "Namespace":
		n := &v1.Namespace{}
		n.TypeMeta, n.ObjectMeta = meta(kind, "v1", "", d.word([]string{one(d, "default", "other"), fmt.Sprintf("ns-%d", i)}, "A b", ""))
		n.Labels = map[string]string{"team": d.word([]string{"a", "b"}, "x y")}
		return n
	case "PriorityClass":
		c := &schedulingv1.PriorityClass{Value: one(d, int32(1000), 1000, -5, 1_000_000_000, 2_000_000_000), GlobalDefault: d.chance(20)}
		c.TypeMeta, c.ObjectMeta = meta(kind, "scheduling.k8s.io/v1", "", one(d, "of-the-cluster", fmt.Sprintf("pc-%d", i)))
		c.PreemptionPolicy = one(d, nil, nil, ptr.To(v1.PreemptNever),
			ptr.To(v1.PreemptionPolicy(d.word([]string{"PreemptLowerPriority"}, "Sometimes"))))
		return c
	case "PodDisruptionBudget":
		b := &policyv1.PodDisruptionBudget{}
		b.TypeMeta, b.ObjectMeta = meta(kind, "policy/v1", "default", fmt.Sprintf("b-%d", i))
		b.Spec.Selector = one(d, d.labelSelector(), &metav1.LabelSelector{})
		amount := intstr.Parse(d.word([]string{"0", "1", "2", "50%"}, "-1", "150%", "half", "0%"))
		if d.chance(50) {
			b.Spec.MinAvailable = &amount
		} else {
			b.Spec.MaxUnavailable = &amount
		}
		if d.chance(d.Odd) {
			b.Spec.MinAvailable = &amount // one of them too many
		}
		return b
	case "CSINode":
		c := &storagev1.CSINode{}
		c.TypeMeta, c.ObjectMeta = meta(kind, "storage.k8s.io/v1", "", fmt.Sprintf("n-%d", i))
		for j := range d.r.IntN(3) {
			driver := storagev1.CSINodeDriver{Name: d.word([]string{"d.example.com", fmt.Sprintf("d%d.example.com", j)}, "Bad Driver", ""),
				NodeID: "x"}
			driver.TopologyKeys = one(d, nil, []string{"zone"}, []string{d.key()})
			if d.chance(60) {
				driver.Allocatable = &storagev1.VolumeNodeResources{Count: one(d, nil, ptr.To(int32(one(d, 0, 1, 1<<31-1, -1))))}
			}
			c.Spec.Drivers = append(c.Spec.Drivers, driver)
		}
		return c
	case "LimitRange":
		return d.limitRange(fmt.Sprintf("l-%d", i))
	}
	return d.quota(fmt.Sprintf("q-%d", i))
}

// amount draws a quantity of a few that are near to each other.
func (d *Drawer) amount() resource.Quantity {
	return resource.MustParse(d.word([]string{"1", "2", "500m", "1500m", "3", "4"}, "0", "1n", "9223372036854775807", "8E"))
}

// podLevel gives a pod resources of its own, which may be empty, and some of its containers huge pages and limits.
func (d *Drawer) podLevel(pod *v1.Pod) {
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: d.amounts(names...), Limits: d.amounts(names...)}
	if d.chance(20) {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{},
			Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("8")}}
	}
	for i := range pod.Spec.Containers {
		own := &pod.Spec.Containers[i].Resources
		if own.Limits == nil {
			own.Limits = v1.ResourceList{}
		}
		if d.chance(40) {
			own.Limits["hugepages-2Mi"] = resource.MustParse(one(d, "2Mi", "4Mi"))
		}
		for _, name := range names {
			if _, ok := own.Limits[name]; !ok && d.chance(40) {
				own.Limits[name] = resource.MustParse("4")
			}
		}
	}
}

func (d *Drawer) limitRange(name string) *v1.LimitRange {
	l := &v1.LimitRange{}
	l.TypeMeta, l.ObjectMeta = meta("LimitRange", "v1", "default", name)
	for _, kind := range []v1.LimitType{v1.LimitTypeContainer, v1.LimitTypePod, v1.LimitTypePersistentVolumeClaim} {
		if d.chance(40) {
			continue
		}
		item := v1.LimitRangeItem{Type: kind, Min: v1.ResourceList{}, Max: v1.ResourceList{}, Default: v1.ResourceList{},
			DefaultRequest: v1.ResourceList{}, MaxLimitRequestRatio: v1.ResourceList{}}
		names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, one(d, v1.ResourceEphemeralStorage, "example.com/gpu")}
		if kind == v1.LimitTypePersistentVolumeClaim {
			names = []v1.ResourceName{v1.ResourceStorage}
		}
		for _, name := range names {
			values := []resource.Quantity{d.amount(), d.amount(), d.amount(), d.amount()}
			if name == "example.com/gpu" {
				for i := range values {
					values[i] = *resource.NewQuantity(d.r.Int64N(4), resource.DecimalSI)
				}
			}
			if !d.chance(d.Odd / 2) {
				slices.SortFunc(values, func(a, b resource.Quantity) int { return a.Cmp(b) })
			}
			for i, list := range []v1.ResourceList{item.Min, item.DefaultRequest, item.Default, item.Max} {
				if d.chance(30) && (kind == v1.LimitTypeContainer || i == 0 || i == 3 || d.chance(d.Odd)) {
					list[name] = values[i]
				}
			}
			if d.chance(15) {
				item.MaxLimitRequestRatio[name] = resource.MustParse(d.word([]string{"1", "2", "1500m"}, "0"))
			}
		}
		l.Spec.Limits = append(l.Spec.Limits, item)
	}
	return l
}

func (d *Drawer) quota(name string) *v1.ResourceQuota {
	q := &v1.ResourceQuota{}
	q.TypeMeta, q.ObjectMeta = meta("ResourceQuota", "v1", "default", name)
	q.Spec.Hard = v1.ResourceList{}
	for range 1 + d.r.IntN(3) {
		name := v1.ResourceName(d.word([]string{"pods", "count/pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu",
			"limits.memory",
			"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-2Mi",
			"requests.example.com/gpu",
			"requests.example.com/tokens", "services", "count/deployments.apps", "requests.storage"}, "limits.example.com/gpu", "plain", ""))
		q.Spec.Hard[name] = one(d, d.quantity(), resource.MustParse(one(d, "3", "5", "8", "12")), resource.MustParse("20Gi"))
	}
	scope := func() v1.ResourceQuotaScope {
		return v1.ResourceQuotaScope(d.word([]string{"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
			"CrossNamespacePodAffinity"},
			"VolumeAttributesClass", "Sometimes"))
	}
	switch d.r.IntN(4) {
	case 0:
		q.Spec.Scopes = []v1.ResourceQuotaScope{scope()}
	case 1:
		s := v1.ScopedResourceSelectorRequirement{ScopeName: scope(), Operator: v1.ScopeSelectorOpExists}
		if s.ScopeName == v1.ResourceQuotaScopePriorityClass {
			s.Operator = one(d, v1.ScopeSelectorOpIn, v1.ScopeSelectorOpNotIn, v1.ScopeSelectorOpExists, v1.ScopeSelectorOpDoesNotExist)
			if s.Operator == v1.ScopeSelectorOpIn || s.Operator == v1.ScopeSelectorOpNotIn {
				s.Values = []string{one(d, "of-the-cluster", "system-node-critical")}
			}
		}
		q.Spec.ScopeSelector = &v1.ScopeSelector{MatchExpressions: []v1.ScopedResourceSelectorRequirement{s}}
	}
	return q
}
