package devices

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Category is what the devices and claims of a cluster are like.
type Category string

// The categories.
const (
	Plain        Category = "plain"
	All          Category = "all"
	Subrequests  Category = "subrequests"
	Constraints  Category = "constraints"
	Counters     Category = "counters"
	Capacity     Category = "shared-capacity"
	Taints       Category = "taints"
	Admin        Category = "admin-access"
	SharedPools  Category = "pools-over-nodes"
	BrokenPools  Category = "broken-pools"
	Conditions   Category = "binding-conditions"
	Extended     Category = "extended-resources"
	driver                = "gpu.example.com"
	secondDriver          = "nic.example.com" // with pools of the same names
	bytes                 = resourcev1.QualifiedName("memory")
	readyCond             = "example.com/ready"
	failedCond            = "example.com/failed"
)

// Categories returns all categories.
func Categories() []Category {
	return []Category{Plain, All, Subrequests, Constraints, Counters, Capacity, Taints, Admin, SharedPools, BrokenPools, Conditions, Extended}
}

// cluster draws what a test needs.
type cluster struct {
	*rand.Rand
	category Category
	nodes    []*v1.Node
	uid      int
	serials  int64
}

func (c *cluster) chance(percent int) bool { return c.IntN(100) < percent }

func pick[T any](c *cluster, from ...T) T { return from[c.IntN(len(from))] }

func (c *cluster) nextUID() types.UID {
	c.uid++
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.uid))
}

func (c *cluster) drawNodes() {
	n := 2 + c.IntN(4)
	if c.chance(40) {
		n = 10 + c.IntN(20)
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name, "zone": pick(c, "a", "b")}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				v1.ResourceCPU: *resource.NewQuantity(4, resource.DecimalSI), v1.ResourcePods: *resource.NewQuantity(10, resource.DecimalSI),
			}},
		}
		for _, name := range []v1.ResourceName{gpuResource, otherResource} {
			if c.category == Extended && c.chance(30) {
				node.Status.Allocatable[name] = *resource.NewQuantity(int64(c.IntN(4)), resource.DecimalSI)
			}
		}
		c.nodes = append(c.nodes, node)
	}
}

func selector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// classes draws the device classes. One expression fails for devices that lack an attribute.
func (c *cluster) classes() []*resourcev1.DeviceClass {
	expressions := map[string]string{
		"any": "true", "gpu": `device.driver == "` + driver + `"`, "big": `device.attributes["` + driver + `"].size >= 2`,
	}
	if c.chance(5) {
		expressions["odd"] = `device.attributes["` + driver + `"].missing == 1`
	}
	if c.category == Extended {
		expressions["free"] = ""
	}
	if c.category == Counters {
		expressions["nic"] = `device.driver == "` + secondDriver + `"`
	}
	var out []*resourcev1.DeviceClass
	for _, name := range []string{"any", "gpu", "big", "free", "nic", "odd"} {
		if expression, ok := expressions[name]; ok {
			class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if expression != "" {
				class.Spec.Selectors = []resourcev1.DeviceSelector{selector(expression)}
			}
			if c.category == Extended && (name == "gpu" || name == "big" && c.chance(30)) {
				class.Spec.ExtendedResourceName = ptr.To(string(gpuResource))
				class.CreationTimestamp = metav1.Unix(int64(c.IntN(3)), 0)
			}
			if c.chance(20) {
				class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{
					Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver},
				}}}
			}
			out = append(out, class)
		}
	}
	return out
}

func (c *cluster) class() string {
	if c.chance(3) {
		return "unknown"
	}
	if c.category == Counters && c.chance(25) {
		return "nic"
	}
	return pick(c, "any", "any", "gpu", "big", "odd")
}

// device draws a device of a pool.
func (c *cluster) device(i int) resourcev1.Device {
	d := resourcev1.Device{
		Name: fmt.Sprintf("d%d", i),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"size": {IntValue: ptr.To(int64(1 + c.IntN(3)))}, "model": {StringValue: ptr.To(pick(c, "x", "y"))},
			"numa":   {IntValue: ptr.To(int64(c.IntN(2)))},
			"serial": {IntValue: ptr.To(c.serials)}, // of which few claims ask
		},
	}
	c.serials++
	switch c.category {
	case Counters:
		if c.chance(80) {
			d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{
				CounterSet: "set", Counters: map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(int64(1+c.IntN(4)), resource.DecimalSI)}},
			}}
		}
		if c.chance(30) { // most without capacity
			d.AllowMultipleAllocations = ptr.To(true)
			if c.chance(30) {
				d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{bytes: {
					Value: *resource.NewQuantity(10, resource.DecimalSI), RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: resource.NewQuantity(3, resource.DecimalSI)},
				}}
			}
		}
	case Capacity:
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{bytes: {Value: *resource.NewQuantity(10, resource.DecimalSI)}}
		if c.chance(70) {
			d.AllowMultipleAllocations = ptr.To(true)
		}
		if c.chance(50) {
			policy := &resourcev1.CapacityRequestPolicy{Default: resource.NewQuantity(2, resource.DecimalSI)}
			if c.chance(50) {
				policy.ValidRange = &resourcev1.CapacityRequestPolicyRange{Min: resource.NewQuantity(2, resource.DecimalSI), Max: resource.NewQuantity(8, resource.DecimalSI), Step: resource.NewQuantity(2, resource.DecimalSI)}
			}
			entry := d.Capacity[bytes]
			entry.RequestPolicy = policy
			d.Capacity[bytes] = entry
		}
	case Taints:
		if c.chance(50) {
			d.Taints = []resourcev1.DeviceTaint{{
				Key: pick(c, "broken", "old"), Value: pick(c, "", "yes"),
				Effect: pick(c, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone),
			}}
		}
	case Conditions:
		if c.chance(50) {
			d.BindingConditions, d.BindingFailureConditions = []string{readyCond}, []string{failedCond}
		}
	}
	return d
}

// slices draws the pools.
func (c *cluster) slices() []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for _, node := range c.nodes {
		if c.chance(10) {
			continue
		}
		out = append(out, c.pool(node.Name, func(s *resourcev1.ResourceSlice) { s.Spec.NodeName = &node.Name })...)
	}
	if c.category == SharedPools {
		for i := range 1 + c.IntN(2) {
			out = append(out, c.pool(fmt.Sprintf("shared%d", i), c.reach)...)
		}
	}
	return out
}

// reach draws from where a slice can be used.
func (c *cluster) reach(s *resourcev1.ResourceSlice) {
	zone := func() *v1.NodeSelector {
		return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{pick(c, "a", "b")}},
		}}}}
	}
	switch c.IntN(3) {
	case 0:
		s.Spec.AllNodes = ptr.To(true)
	case 1:
		s.Spec.NodeSelector = zone()
	default:
		s.Spec.PerDeviceNodeSelection = ptr.To(true)
		for i := range s.Spec.Devices {
			switch d := &s.Spec.Devices[i]; c.IntN(3) {
			case 0:
				d.AllNodes = ptr.To(true)
			case 1:
				d.NodeSelector = zone()
			default:
				d.NodeName = ptr.To(pick(c, c.nodes...).Name)
			}
		}
	}
}

// pool draws one pool of one to three slices.
func (c *cluster) pool(name string, reach func(*resourcev1.ResourceSlice)) (out []*resourcev1.ResourceSlice) {
	count, n := 1+c.IntN(2), 0
	for i := range count {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i)}}
		s.Spec.Driver, s.Spec.Pool = driver, resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: int64(count)}
		for range 1 + c.IntN(4) {
			s.Spec.Devices = append(s.Spec.Devices, c.device(n))
			n++
		}
		reach(s)
		out = append(out, s)
	}
	if c.category == Counters {
		out = c.counters(out, reach)
		if c.chance(50) {
			out = append(out, c.counters(c.second(name, reach), reach)...)
		}
	}
	if c.category == BrokenPools {
		switch c.IntN(4) {
		case 0: // a slice is missing
			out[0].Spec.Pool.ResourceSliceCount++
			for _, s := range out {
				s.Spec.Pool.ResourceSliceCount = out[0].Spec.Pool.ResourceSliceCount
			}
		case 1: // two devices of a name
			last := out[len(out)-1]
			last.Spec.Devices = append(last.Spec.Devices, c.device(0))
		case 2: // an old generation is being replaced
			out[len(out)-1].Spec.Pool.Generation = 2
		}
	}
	return out
}

// counters adds the counters of a pool.
func (c *cluster) counters(pool []*resourcev1.ResourceSlice, reach func(*resourcev1.ResourceSlice)) []*resourcev1.ResourceSlice {
	first := pool[0]
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: first.Name + "-counters"}}
	s.Spec.Driver, s.Spec.Pool = first.Spec.Driver, first.Spec.Pool
	s.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "set", Counters: map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(int64(3+c.IntN(6)), resource.DecimalSI)}}}}
	reach(s)
	pool = append(pool, s)
	for _, s := range pool {
		s.Spec.Pool.ResourceSliceCount = int64(len(pool))
	}
	return pool
}

// second draws a pool of the second driver. Its devices have the attributes that selectors read.
func (c *cluster) second(name string, reach func(*resourcev1.ResourceSlice)) []*resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-second"}}
	s.Spec.Driver, s.Spec.Pool = secondDriver, resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}
	for i := range 1 + c.IntN(3) {
		d := c.device(i)
		attributes := make(map[resourcev1.QualifiedName]resourcev1.DeviceAttribute)
		for name, value := range d.Attributes {
			attributes[driver+"/"+name] = value
		}
		d.Attributes = attributes
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	reach(s)
	return []*resourcev1.ResourceSlice{s}
}

// reshare draws versions of the slices of a pool in which other devices allow several allocations, or none does.
func (c *cluster) reshare(all []*resourcev1.ResourceSlice, pool string) (changed []*resourcev1.ResourceSlice) {
	none := c.chance(60)
	for i, s := range all {
		if s.Spec.Pool.Name != pool {
			continue
		}
		s = s.DeepCopy()
		for j := range s.Spec.Devices {
			s.Spec.Devices[j].AllowMultipleAllocations = ptr.To(!none && c.chance(50))
		}
		all[i], changed = s, append(changed, s)
	}
	return changed
}

// claim draws a claim.
func (c *cluster) claim(name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: c.nextUID()}}
	spec := &claim.Spec.Devices
	for i := range 1 + c.IntN(2) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		if c.category == Subrequests && c.chance(70) {
			for j := range 1 + c.IntN(3) {
				e := c.request()
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", j), DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode, Count: e.Count,
				})
			}
		} else {
			r.Exactly = c.request()
		}
		spec.Requests = append(spec.Requests, r)
	}
	if c.category == Constraints {
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
	return claim
}

func (c *cluster) request() *resourcev1.ExactDeviceRequest {
	e := &resourcev1.ExactDeviceRequest{DeviceClassName: c.class(), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + c.IntN(2))}
	if (c.category == All || c.category == SharedPools || c.category == BrokenPools) && c.chance(50) {
		e.AllocationMode, e.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	if c.chance(30) {
		e.Selectors = append(e.Selectors, selector(`device.attributes["`+driver+`"].model == "`+pick(c, "x", "y")+`"`))
	}
	if c.chance(10) {
		e.Selectors = append(e.Selectors, selector(`device.attributes["`+driver+`"].serial > `+strconv.Itoa(c.IntN(10))))
	}
	switch c.category {
	case Constraints:
		e.Count = int64(1 + c.IntN(3))
	case Taints:
		if c.chance(50) {
			e.Tolerations = []resourcev1.DeviceToleration{{
				Key: pick(c, "broken", "old"), Operator: pick(c, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual),
				Effect: pick(c, "", resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute),
			}}
			if e.Tolerations[0].Operator == resourcev1.DeviceTolerationOpEqual {
				e.Tolerations[0].Value = pick(c, "", "yes")
			}
		}
	case Admin:
		if c.chance(50) {
			e.AdminAccess = ptr.To(true)
		}
	case Capacity:
		if c.chance(70) {
			e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{bytes: *resource.NewQuantity(int64(1+c.IntN(5)), resource.DecimalSI)}}
		}
	}
	return e
}

// allocated draws a claim that was allocated before, on a device that may exist.
func (c *cluster) allocated(claim *resourcev1.ResourceClaim) {
	node := pick(c, c.nodes...)
	r := resourcev1.DeviceRequestAllocationResult{Request: "r0", Driver: driver, Pool: node.Name, Device: fmt.Sprintf("d%d", c.IntN(3))}
	if c.category == Conditions {
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
}

// containers draws containers with extended resources, of some only those that no node has itself.
func (c *cluster) containers(pod *v1.Pod, ofClasses bool) {
	names := []v1.ResourceName{anyResource, freeResource, anyResource, freeResource, gpuResource, gpuResource, gpuResource, otherResource, unknownResource}
	if ofClasses {
		names = names[:2]
	}
	draw := func(name string) v1.Container {
		container := v1.Container{Name: name}
		container.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m")}
		for range c.IntN(3) {
			n := int64(1 + c.IntN(2))
			if c.chance(5) {
				n = pick(c, 0, int64(resourcev1.AllocationResultsMaxSize+1))
			}
			if name := pick(c, names...); c.chance(20) || name == anyResource || name == freeResource || name == gpuResource {
				container.Resources.Requests[name] = *resource.NewQuantity(n, resource.DecimalSI)
			}
		}
		return container
	}
	if c.chance(40) {
		for i := range 1 + c.IntN(3) {
			container := draw(fmt.Sprintf("init%d", i))
			if c.chance(40) {
				container.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		}
	}
	for i := range 1 + c.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, draw(fmt.Sprintf("main%d", i)))
	}
}

// stale draws what an earlier try has left for a pod.
func (c *cluster) stale(pod *v1.Pod) *resourcev1.ResourceClaim {
	claim := c.claim(pod.Name + "-extended-resources-" + made)
	claim.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
	if c.chance(30) {
		claim.Finalizers = []string{resourcev1.Finalizer}
	}
	return claim
}

// pod draws a pod that uses claims, with the names of those that exist.
func (c *cluster) pod(name string, claims []string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: c.nextUID()}, Spec: v1.PodSpec{SchedulerName: "default-scheduler"}}
	for i, claim := range claims {
		entry := v1.PodResourceClaim{Name: fmt.Sprintf("c%d", i), ResourceClaimName: &claim}
		if c.chance(20) {
			entry.ResourceClaimName, entry.ResourceClaimTemplateName = nil, ptr.To("template")
			switch c.IntN(8) {
			case 0: // not made yet
			case 1: // not needed
				pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name})
			default:
				pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &claim})
			}
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
	}
	return pod
}
