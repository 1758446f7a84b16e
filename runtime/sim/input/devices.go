package input

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// resourceClaim sets the defaults of a claim (pkg/apis/resource/v1/defaults.go of k8s.io/kubernetes)
// and checks it.
func (c *checker) resourceClaim(path string, s *resourcev1.ResourceClaimSpec) {
	seen := make(map[string]bool)
	for i := range s.Devices.Requests {
		r := &s.Devices.Requests[i]
		at := fmt.Sprintf("%s.devices.requests[%d]", path, i)
		c.given(at+".name", r.Name, "name the request")
		if seen[r.Name] {
			c.bad(at+".name", fmt.Sprintf("there are two requests %q", r.Name), "rename one of them")
		}
		seen[r.Name] = true
		switch {
		case r.Exactly != nil && len(r.FirstAvailable) > 0:
			c.bad(at, "it has both exactly and firstAvailable", "remove one of them")
		case r.Exactly != nil:
			e := r.Exactly
			c.deviceRequest(at+".exactly", e.DeviceClassName, &e.AllocationMode, &e.Count, e.Tolerations)
		case len(r.FirstAvailable) == 0:
			c.bad(at, "it asks for nothing", "write exactly or firstAvailable")
		}
		for j := range r.FirstAvailable {
			e := &r.FirstAvailable[j]
			inner := fmt.Sprintf("%s.firstAvailable[%d]", at, j)
			c.given(inner+".name", e.Name, "name the request")
			c.deviceRequest(inner, e.DeviceClassName, &e.AllocationMode, &e.Count, e.Tolerations)
		}
	}
}

func (c *checker) deviceRequest(path, class string, mode *resourcev1.DeviceAllocationMode, count *int64, tolerations []resourcev1.DeviceToleration) {
	c.given(path+".deviceClassName", class, "name the class of the devices")
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	c.oneOf(path+".allocationMode", string(*mode), string(resourcev1.DeviceAllocationModeExactCount), string(resourcev1.DeviceAllocationModeAll))
	exact := *mode == resourcev1.DeviceAllocationModeExactCount
	switch {
	case exact && *count == 0:
		*count = 1
	case exact && *count < 0:
		c.bad(path+".count", fmt.Sprintf("%d devices cannot be allocated", *count), "write at least 1")
	case !exact && *count != 0:
		c.bad(path+".count", "allocationMode All takes no count", "remove it")
	}
	for i := range tolerations {
		if t := &tolerations[i]; t.Operator == "" {
			t.Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

func (c *checker) resourceSlice(s *resourcev1.ResourceSlice) {
	c.given("spec.driver", s.Spec.Driver, "name the driver of the devices")
	c.given("spec.pool.name", s.Spec.Pool.Name, "name the pool; a driver's pool of a node usually has the node's name")
	if s.Spec.Pool.ResourceSliceCount < 1 {
		c.bad("spec.pool.resourceSliceCount", fmt.Sprintf("a pool of %d slices cannot contain this one", s.Spec.Pool.ResourceSliceCount), "write how many slices the pool has")
	}
	if n := s.Spec.NodeSelector; n != nil {
		c.nodeSelector("spec.nodeSelector", n)
	}
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		at := fmt.Sprintf("spec.devices[%d]", i)
		c.given(at+".name", d.Name, "name the device")
		if d.NodeSelector != nil {
			c.nodeSelector(at+".nodeSelector", d.NodeSelector)
		}
	}
}

func (c *checker) deviceTaintRule(r *resourcev1.DeviceTaintRule) {
	c.given("spec.taint.key", r.Spec.Taint.Key, "name the taint")
	c.oneOf("spec.taint.effect", string(r.Spec.Taint.Effect), string(resourcev1.DeviceTaintEffectNone),
		string(resourcev1.DeviceTaintEffectNoSchedule), string(resourcev1.DeviceTaintEffectNoExecute))
}
