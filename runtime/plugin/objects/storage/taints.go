package storage

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// ResourceSlices implements objects.ResourceSlices. A slice stays the same object until it, or what rules taint of it,
// may have changed.
func (s *Store) ResourceSlices() []*resourcev1.ResourceSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := sorted(s.slices.all)
	if len(s.taintRules.all) == 0 {
		return out
	}
	if s.tainted == nil {
		s.tainted = make(map[*resourcev1.ResourceSlice]*resourcev1.ResourceSlice)
	}
	var rules []*resourcev1.DeviceTaintRule
	for i, slice := range out {
		if s.tainted[slice] == nil {
			if rules == nil {
				rules = sorted(s.taintRules.all)
			}
			s.tainted[slice] = taint(slice, rules)
		}
		out[i] = s.tainted[slice]
	}
	return out
}

// taint returns the slice with the taints of the rules that select its devices: the slice itself if none does.
func taint(slice *resourcev1.ResourceSlice, rules []*resourcev1.DeviceTaintRule) *resourcev1.ResourceSlice {
	out := slice
	is := func(wanted *string, name string) bool { return wanted == nil || *wanted == name }
	for _, rule := range rules {
		of := rule.Spec.DeviceSelector
		if of == nil || !is(of.Driver, slice.Spec.Driver) || !is(of.Pool, slice.Spec.Pool.Name) {
			continue // a rule without a selector taints nothing
		}
		for i := range slice.Spec.Devices {
			if !is(of.Device, slice.Spec.Devices[i].Name) {
				continue
			}
			if out == slice {
				out = slice.DeepCopy()
			}
			d := &out.Spec.Devices[i]
			d.Taints = append(slices.Clip(d.Taints), rule.Spec.Taint)
		}
	}
	return out
}
