package devices

import (
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/state"
)

// What clusters of the category Mixed have besides.

const (
	otherDomain = "vendor.example.com"
	cores       = resourcev1.QualifiedName("cores")
	otherSet    = "other"
)

// mix draws what a cluster has.
func (c *cluster) mix() {
	c.mixed = make(map[Category]bool)
	for _, category := range []Category{All, Subrequests, Constraints, Counters, Capacity, Taints, Admin, SharedPools, BrokenPools, Extended} {
		c.mixed[category] = c.chance(40)
	}
	c.mixed[Conditions] = c.chance(5) // each waits for devices
	if c.mixed[Extended] {
		c.mixed[BrokenPools] = false // the plugins differ
	}
}

// seldomDevice changes a device.
func (c *cluster) seldomDevice(d *resourcev1.Device) {
	if c.chance(50) {
		d.Attributes["firmware"] = resourcev1.DeviceAttribute{VersionValue: ptr.To(pick(c, "1.0.0", "2.1.0"))}
	}
	if c.chance(50) {
		d.Attributes["fast"] = resourcev1.DeviceAttribute{BoolValue: ptr.To(c.chance(50))}
	}
	if c.chance(10) {
		delete(d.Attributes, pick(c, resourcev1.QualifiedName("numa"), "size"))
	}
	if c.chance(20) {
		d.Attributes[driver+"/model"] = d.Attributes["model"]
		delete(d.Attributes, "model")
	}
	if c.chance(50) {
		d.Attributes[otherDomain+"/rack"] = resourcev1.DeviceAttribute{StringValue: ptr.To(pick(c, "left", "right"))}
	}
	for i := range d.Taints {
		d.Taints[i].TimeAdded = &metav1.Time{Time: time.Unix(int64(c.IntN(1000)), 0)}
	}
	if len(d.ConsumesCounters) > 0 && c.chance(40) {
		d.ConsumesCounters = append(d.ConsumesCounters, resourcev1.DeviceCounterConsumption{
			CounterSet: otherSet, Counters: map[string]resourcev1.Counter{"slots": {Value: *resource.NewQuantity(1, resource.DecimalSI)}},
		})
	}
	if d.Capacity != nil && c.chance(50) {
		d.Capacity[cores] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(4, resource.DecimalSI), RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default: resource.NewQuantity(1, resource.DecimalSI),
			ValidValues: []resource.Quantity{
				*resource.NewQuantity(1, resource.DecimalSI), *resource.NewQuantity(2, resource.DecimalSI), *resource.NewQuantity(4, resource.DecimalSI),
			},
		}}
	}
	d.BindsToNode = ptr.To(c.chance(5))
}

// seldomRequest changes a request.
func (c *cluster) seldomRequest(e *resourcev1.ExactDeviceRequest) {
	const own = `device.attributes["` + driver + `"]`
	if c.chance(35) {
		e.Selectors = append(e.Selectors, selector(pick(c,
			own+`.?firmware.orValue(semver("0.0.1")).isGreaterThan(semver("1.5.0"))`,
			`has(`+own+`.fast) && `+own+`.fast`,
			`"rack" in device.attributes["`+otherDomain+`"]`,
			`device.attributes["`+otherDomain+`"].?rack.orValue("left") == "left"`,
			`!device.allowMultipleAllocations`,
			`device.attributes.exists(d, d == "`+otherDomain+`")`,
			`"memory" in device.capacity["`+driver+`"] ? device.capacity["`+driver+`"].memory.compareTo(quantity("5")) >= 0 : true`,
			`cel.bind(a, `+own+`, !("size" in a) || a.size > 1)`,
			own+`.?size.orValue(1) in [1, 2]`,
			`device.attributes[device.driver].?numa.orValue(0) == 0`,
			own+`.all(name, name != "fast")`,
		)))
	}
	if c.chance(3) {
		e.Selectors = append(e.Selectors, selector(pick(c,
			`device.nothing`, `1 + 1`, `device.driver ==`, own+`.numa == 1`, own+`.firmware.isLessThan(semver("2.0.0"))`,
			// This costs more than an expression may.
			`[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, `+
				`[0,1,2,3,4,5,6,7,8,9].all(f, a + b + c + d + e + f >= 0 && device.driver != ""))))))`,
		)))
	}
	if c.has(Taints) && c.chance(30) {
		e.Tolerations = append(e.Tolerations, resourcev1.DeviceToleration{Operator: resourcev1.DeviceTolerationOpExists, Effect: pick(c, "", resourcev1.DeviceTaintEffectNoExecute)})
		if c.chance(50) {
			e.Tolerations[0].Effect, e.Tolerations[0].TolerationSeconds = resourcev1.DeviceTaintEffectNoExecute, ptr.To(int64(c.IntN(2)))
		}
	}
	if e.Capacity != nil && c.chance(50) {
		e.Capacity.Requests[pick(c, bytes, cores, "missing")] = *resource.NewQuantity(int64(1+c.IntN(11)), resource.DecimalSI)
	}
	if e.Count > 0 && c.chance(1) {
		e.Count = resourcev1.AllocationResultsMaxSize + 1
	}
}

// seldomClaim changes a claim.
func (c *cluster) seldomClaim(claim *resourcev1.ResourceClaim) {
	spec := &claim.Spec.Devices
	for len(spec.Constraints) > 0 && c.chance(30) {
		name := ptr.To(resourcev1.FullyQualifiedName(pick(c, otherDomain+"/rack", driver+"/firmware", driver+"/fast", driver+"/missing", driver+"/serial")))
		one := resourcev1.DeviceConstraint{MatchAttribute: name}
		if c.chance(50) {
			one = resourcev1.DeviceConstraint{DistinctAttribute: name}
		}
		spec.Constraints = append(spec.Constraints, one)
	}
	some := func() []string {
		if c.chance(50) {
			return nil
		}
		return []string{pick(c, "r0", "r1", "r0/s0", "r1/s1")}
	}
	for i := range spec.Constraints {
		spec.Constraints[i].Requests = some()
	}
	for i := range spec.Config {
		spec.Config[i].Requests = some()
	}
	if c.chance(2) {
		claim.Finalizers, claim.DeletionTimestamp = []string{"example.com/keep"}, &metav1.Time{Time: time.Unix(1, 0)}
	}
}

// shift changes a slice, a pool, a class or a node, sometimes.
func (r *run) shift(all []*resourcev1.ResourceSlice, classes []*resourcev1.DeviceClass) []*resourcev1.ResourceSlice {
	if r.category != Mixed || !r.chance(40) {
		return all
	}
	switch r.IntN(4) {
	case 0: // a driver publishes a slice again
		if len(all) > 0 {
			at := r.IntN(len(all))
			s := all[at].DeepCopy()
			for i := range s.Spec.Devices {
				if was := &s.Spec.Devices[i]; r.chance(50) {
					d := r.device(0)
					was.Attributes["serial"], was.Taints = d.Attributes["serial"], d.Taints
					if !r.has(Extended) { // kube-scheduler's plugins remember what classes select
						was.Attributes["numa"] = d.Attributes["numa"]
						was.Attributes["size"] = d.Attributes["size"]
					}
				}
			}
			all[at] = s
			r.tell(s)
		}
	case 1: // a driver replaces a pool, slice by slice
		if len(all) > 0 && !r.has(Counters) {
			was := pick(r.cluster, all...)
			s := was.DeepCopy()
			s.Name, s.Spec.Pool.Generation = s.Name+"-new", s.Spec.Pool.Generation+1
			all = append(all, s)
			r.tell(s)
		}
	case 2: // kube-scheduler's plugin remembers old versions of a class that provides a resource
		if !r.has(Extended) {
			class := pick(r.cluster, classes...).DeepCopy()
			class.Spec.Selectors = []resourcev1.DeviceSelector{selector(pick(r.cluster, "true", `device.driver == "`+driver+`"`, `device.driver != "`+driver+`"`))}
			gone := r.chance(30)
			for _, s := range r.sides {
				s.class(class, gone)
			}
		}
	case 3:
		at := r.IntN(len(r.cluster.nodes))
		node := r.cluster.nodes[at].DeepCopy()
		if !r.has(Extended) {
			node.Labels["zone"] = pick(r.cluster, "a", "b")
		} else {
			node.Status.Allocatable[gpuResource] = *resource.NewQuantity(int64(r.IntN(3)), resource.DecimalSI)
		}
		r.cluster.nodes[at] = node
		r.nodes.cache.AddNode(state.NewNode(node))
		r.nodes.cache.UpdateSnapshot(r.nodes.snapshot)
	}
	return all
}

func (r *run) tell(slice *resourcev1.ResourceSlice) {
	for _, s := range r.sides {
		s.slice(slice, false)
	}
}

// remake deletes a claim that no pod is being bound with and makes another one of the same name, sometimes.
func (r *run) remake() {
	if r.category != Mixed || len(r.inUse) > 0 || len(r.claims) == 0 || !r.chance(20) {
		return
	}
	name := pick(r.cluster, r.claims...)
	if now, err := r.sides[0].api.get("default", name); err != nil || now.Annotations != nil {
		return
	}
	next := r.claim(name)
	for _, s := range r.sides {
		now, err := s.api.get("default", name)
		if err != nil {
			panic(fmt.Sprintf("BUG: %v", err))
		}
		now = now.DeepCopy()
		now.Finalizers = nil
		s.api.set(now)
		if err := s.api.remove("default", name); err != nil {
			panic(fmt.Sprintf("BUG: %v", err))
		}
		s.api.set(next)
	}
}

// crowd makes other pods use a claim, as many as can or nearly.
func (c *cluster) crowd(claim *resourcev1.ResourceClaim) {
	for range resourcev1.ResourceClaimReservedForMaxSize - c.IntN(2) - len(claim.Status.ReservedFor) {
		uid := c.nextUID()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(uid), UID: uid})
	}
}
