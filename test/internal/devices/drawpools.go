package devices

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

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
	if c.is(Counters) {
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
	}
	if c.is(Capacity) {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{bytes: {Value: *resource.NewQuantity(10, resource.DecimalSI)}}
		if c.chance(70) {
			d.AllowMultipleAllocations = ptr.To(true)
		}
		if c.chance(50) {
			policy := &resourcev1.CapacityRequestPolicy{Default: resource.NewQuantity(2, resource.DecimalSI)}
			if c.chance(50) {
				policy.ValidRange = &resourcev1.CapacityRequestPolicyRange{Min: resource.NewQuantity(2, resource.DecimalSI), Max: resource.NewQuantity(8, resource.DecimalSI), Step: resource.NewQuantity(2, resource.DecimalSI)}
				if c.chance(30) { // which count as whole numbers without the gate DRAFractionalCapacityRange
					policy.ValidRange.Min, policy.ValidRange.Step = resource.NewMilliQuantity(500, resource.DecimalSI),
						resource.NewMilliQuantity(1500, resource.DecimalSI)
				}
			}
			entry := d.Capacity[bytes]
			entry.RequestPolicy = policy
			d.Capacity[bytes] = entry
		}
	}
	if c.is(Taints) {
		if c.chance(50) {
			d.Taints = []resourcev1.DeviceTaint{c.taint()}
		}
	}
	if c.is(Conditions) {
		if c.chance(50) {
			d.BindingConditions, d.BindingFailureConditions = []string{readyCond}, []string{failedCond}
		}
	}
	if c.category == Mixed {
		c.seldomDevice(&d)
	}
	return d
}

func (c *cluster) taint() resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{
		Key: pick(c, "broken", "old"), Value: pick(c, "", "yes"),
		Effect: pick(c, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone),
	}
}

// rule draws a rule that taints devices (KEP-5055), perhaps ones that do not exist. One without a selector taints none.
func (c *cluster) rule() *resourcev1.DeviceTaintRule {
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("rule%d", c.IntN(3))}}
	rule.Spec.Taint = c.taint()
	if c.chance(10) {
		return rule
	}
	of := &resourcev1.DeviceTaintSelector{}
	if c.chance(50) {
		of.Driver = ptr.To(pick(c, driver, driver, secondDriver))
	}
	if c.chance(60) {
		of.Pool = ptr.To(pick(c, "shared0", pick(c, c.nodes...).Name, pick(c, c.nodes...).Name))
	}
	if c.chance(60) {
		of.Device = ptr.To(fmt.Sprintf("d%d", c.IntN(4)))
	}
	rule.Spec.DeviceSelector = of
	return rule
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
	if c.is(SharedPools) {
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
	if c.has(Counters) {
		out = c.counters(out, reach)
		if c.chance(50) {
			out = append(out, c.counters(c.second(name, reach), reach)...)
		}
	}
	if c.is(BrokenPools) {
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
	if c.category == Mixed {
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, resourcev1.CounterSet{
			Name: otherSet, Counters: map[string]resourcev1.Counter{"slots": {Value: *resource.NewQuantity(int64(1+c.IntN(3)), resource.DecimalSI)}},
		})
	}
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
			if !strings.Contains(string(name), "/") {
				name = driver + "/" + name
			}
			attributes[name] = value
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
