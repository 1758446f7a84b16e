package devices

import (
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// claim draws a claim.
func (c *cluster) claim(name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: c.nextUID()}}
	spec := &claim.Spec.Devices
	for i := range 1 + c.IntN(2) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		if c.is(Subrequests) && c.chance(70) {
			for j := range 1 + c.IntN(3) {
				e := c.request()
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", j), DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode, Count: e.Count,
					Tolerations: e.Tolerations, Capacity: e.Capacity,
				})
			}
		} else {
			r.Exactly = c.request()
		}
		spec.Requests = append(spec.Requests, r)
	}
	if c.is(Constraints) {
		attribute := ptr.To(resourcev1.FullyQualifiedName(driver + "/" + pick(c, "model", "numa", "size")))
		if c.chance(70) {
			spec.Constraints = append(spec.Constraints, resourcev1.DeviceConstraint{MatchAttribute: attribute})
		} else {
			spec.Constraints = append(spec.Constraints, resourcev1.DeviceConstraint{DistinctAttribute: attribute})
		}
	}
	if c.chance(10) {
		spec.Config = []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver}}}}
	}
	if c.category == Mixed {
		c.seldomClaim(claim)
	}
	return claim
}

func (c *cluster) request() *resourcev1.ExactDeviceRequest {
	e := &resourcev1.ExactDeviceRequest{DeviceClassName: c.class(), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + c.IntN(2))}
	if (c.is(All) || c.is(SharedPools) || c.is(BrokenPools)) && c.chance(50) {
		e.AllocationMode, e.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	if c.chance(30) {
		e.Selectors = append(e.Selectors, selector(`device.attributes["`+driver+`"].model == "`+pick(c, "x", "y")+`"`))
	}
	if c.chance(10) {
		e.Selectors = append(e.Selectors, selector(`device.attributes["`+driver+`"].serial > `+strconv.Itoa(c.IntN(10))))
	}
	if c.is(Constraints) {
		e.Count = int64(1 + c.IntN(3))
	}
	if c.is(Taints) {
		if c.chance(50) {
			e.Tolerations = []resourcev1.DeviceToleration{{
				Key: pick(c, "broken", "old"), Operator: pick(c, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual),
				Effect: pick(c, "", resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute),
			}}
			if e.Tolerations[0].Operator == resourcev1.DeviceTolerationOpEqual {
				e.Tolerations[0].Value = pick(c, "", "yes")
			}
		}
	}
	if c.is(Admin) {
		if c.chance(50) {
			e.AdminAccess = ptr.To(true)
		}
	}
	if c.is(Capacity) {
		if c.chance(70) {
			e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{bytes: *resource.NewQuantity(int64(1+c.IntN(5)), resource.DecimalSI)}}
		}
	}
	if c.category == Mixed {
		c.seldomRequest(e)
	}
	return e
}

// allocated draws a claim that was allocated before, on a device that may exist.
func (c *cluster) allocated(claim *resourcev1.ResourceClaim) {
	node := pick(c, c.nodes...)
	r := resourcev1.DeviceRequestAllocationResult{Request: "r0", Driver: driver, Pool: node.Name, Device: fmt.Sprintf("d%d", c.IntN(3))}
	if c.is(Conditions) {
		r.BindingConditions, r.BindingFailureConditions = []string{readyCond}, []string{failedCond}
		if c.chance(70) {
			claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: r.Driver, Pool: r.Pool, Device: r.Device, Conditions: []metav1.Condition{
				{Type: pick(c, readyCond, failedCond), Status: pick(c, metav1.ConditionTrue, metav1.ConditionFalse), Reason: "Tested", Message: "so it is"},
			}}}
		}
	}
	claim.Finalizers = []string{resourcev1.Finalizer}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	at := metav1.NewTime(time.Now().Add(-time.Duration(c.IntN(2)) * time.Hour)) //nolint:forbidigo // kube-scheduler's plugin reads the clock
	claim.Status.Allocation.AllocationTimestamp = &at
	if c.chance(80) {
		claim.Status.Allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node.Name}},
		}}}}
	}
	for range c.IntN(3) {
		uid := c.nextUID()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(uid), UID: uid})
	}
	if c.category == Mixed && c.chance(5) {
		c.crowd(claim)
	}
}

// stale draws what an earlier try has left for a pod.
func (c *cluster) stale(pod *v1.Pod) *resourcev1.ResourceClaim {
	claim := c.claim(pod.Name + "-extended-resources-" + made)
	claim.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
	claim.Finalizers, claim.DeletionTimestamp = nil, nil
	if c.chance(30) {
		claim.Finalizers = []string{resourcev1.Finalizer}
	}
	return claim
}
