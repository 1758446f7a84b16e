package devices

import (
	"context"
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/hostplugins/dynamicresources"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// wrapped is Berth's plugin with a mistake.
type wrapped struct {
	*dynamicresources.DynamicResources
	ungated, unreasoned, unscored, grounded, kept, stubborn bool
}

func (w *wrapped) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	if !w.ungated {
		w.DynamicResources.PreEnqueue(pods, out)
	}
}

func (w *wrapped) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	w.DynamicResources.Filter(c, rows, out)
	for i := range out.Table {
		if w.unreasoned {
			out.Table[i] = []string{"no devices"}
		}
	}
}

func (w *wrapped) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	if w.unscored {
		return nil
	}
	return w.DynamicResources.Score(c, rows, out)
}

func (w *wrapped) Reserve(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	d, s := w.DynamicResources.Reserve(p)
	for _, ended := range p.Ended {
		if w.grounded {
			ended()
		}
	}
	return d, s
}

func (w *wrapped) Unreserve(p *plugin.Placement) plugin.Directives {
	if w.kept {
		return plugin.Directives{}
	}
	return w.DynamicResources.Unreserve(p)
}

func (w *wrapped) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	r, s := w.DynamicResources.PostFilter(c, d)
	if w.stubborn && s.Message() == "deallocation of ResourceClaim completed" {
		s.Reasons = nil
	}
	return r, s
}

// withoutShares returns a claim without its shares of devices that no longer allow several allocations; nil if it has none.
func withoutShares(claim *resourcev1.ResourceClaim, slice *resourcev1.ResourceSlice) *resourcev1.ResourceClaim {
	if claim.Status.Allocation == nil {
		return nil
	}
	now := claim.DeepCopy()
	of := &now.Status.Allocation.Devices
	of.Results = slices.DeleteFunc(of.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
		return r.ShareID != nil && r.Driver == slice.Spec.Driver && r.Pool == slice.Spec.Pool.Name && slices.ContainsFunc(slice.Spec.Devices, func(d resourcev1.Device) bool {
			return d.Name == r.Device && !ptr.Deref(d.AllowMultipleAllocations, false)
		})
	})
	if len(of.Results) == len(claim.Status.Allocation.Devices.Results) {
		return nil
	}
	return now
}

// TestMutants: each mistake is found in a few clusters.
func TestMutants(t *testing.T) {
	wrap := func(change func(w *wrapped)) func(*side) {
		return func(s *side) {
			w := &wrapped{DynamicResources: s.plugin.(*dynamicresources.DynamicResources)}
			change(w)
			s.plugin = w
		}
	}
	slices := func(change func(s *resourcev1.ResourceSlice)) func(*side) {
		return func(s *side) {
			inner := s.slice
			s.slice = func(slice *resourcev1.ResourceSlice, gone bool) {
				slice = slice.DeepCopy()
				change(slice)
				inner(slice, gone)
			}
		}
	}
	claims := func(change func(c *resourcev1.ResourceClaim)) func(*side) {
		return func(s *side) {
			inner := s.api.watch
			s.api.watch = func(was, now *resourcev1.ResourceClaim) {
				if now != nil {
					now = now.DeepCopy()
					change(now)
				}
				inner(was, now)
			}
		}
	}
	requests := func(change func(r *resourcev1.ExactDeviceRequest)) func(*side) {
		return claims(func(c *resourcev1.ResourceClaim) {
			for i := range c.Spec.Devices.Requests {
				if e := c.Spec.Devices.Requests[i].Exactly; e != nil {
					change(e)
				}
			}
		})
	}
	devices := func(change func(d *resourcev1.Device)) func(*side) {
		return slices(func(s *resourcev1.ResourceSlice) {
			for i := range s.Spec.Devices {
				change(&s.Spec.Devices[i])
			}
		})
	}
	for name, mutant := range map[string]struct {
		category Category
		change   func(*side)
	}{
		"pods without claims are not gated":       {Plain, wrap(func(w *wrapped) { w.ungated = true })},
		"another reason":                          {Plain, wrap(func(w *wrapped) { w.unreasoned = true })},
		"alternatives do not score":               {Subrequests, wrap(func(w *wrapped) { w.unscored = true })},
		"claims are not in flight":                {Plain, wrap(func(w *wrapped) { w.grounded = true })},
		"claims stay reserved":                    {Plain, wrap(func(w *wrapped) { w.kept = true })},
		"it does not say that it gave a claim up": {Conditions, wrap(func(w *wrapped) { w.stubborn = true })},
		"alternatives are forgotten": {Subrequests, claims(func(c *resourcev1.ResourceClaim) {
			for i := range c.Spec.Devices.Requests {
				if r := &c.Spec.Devices.Requests[i]; len(r.FirstAvailable) > 1 {
					r.FirstAvailable = r.FirstAvailable[1:]
				}
			}
		})},
		"constraints are forgotten": {Constraints, claims(func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Constraints = nil })},
		"all devices are one": {All, requests(func(e *resourcev1.ExactDeviceRequest) {
			e.AllocationMode, e.Count = resourcev1.DeviceAllocationModeExactCount, max(1, e.Count)
		})},
		"selectors are forgotten":            {Plain, requests(func(e *resourcev1.ExactDeviceRequest) { e.Selectors = nil })},
		"serial numbers are equal":           {Plain, devices(func(d *resourcev1.Device) { d.Attributes["serial"] = resourcev1.DeviceAttribute{IntValue: new(int64)} })},
		"tolerations are forgotten":          {Taints, requests(func(e *resourcev1.ExactDeviceRequest) { e.Tolerations = nil })},
		"administrators own devices":         {Admin, requests(func(e *resourcev1.ExactDeviceRequest) { e.AdminAccess = nil })},
		"requests of capacity count nothing": {Capacity, requests(func(e *resourcev1.ExactDeviceRequest) { e.Capacity = nil })},
		"taints are forgotten":               {Taints, devices(func(d *resourcev1.Device) { d.Taints = nil })},
		"taints of rules are forgotten":      {Taints, func(s *side) { s.rule = func(*resourcev1.DeviceTaintRule, bool) {} }},
		"rules stay": {Taints, func(s *side) {
			inner := s.rule
			s.rule = func(r *resourcev1.DeviceTaintRule, gone bool) {
				if !gone {
					inner(r, false)
				}
			}
		}},
		"counters are forgotten": {Counters, devices(func(d *resourcev1.Device) { d.ConsumesCounters = nil })},
		"devices are not shared": {Capacity, devices(func(d *resourcev1.Device) { d.AllowMultipleAllocations = nil })},
		"counters of two drivers are one driver's": {Counters, slices(func(s *resourcev1.ResourceSlice) {
			for i := range s.Spec.SharedCounters {
				if s.Spec.Driver == secondDriver {
					s.Spec.SharedCounters[i].Counters["memory"] = resourcev1.Counter{Value: *resource.NewQuantity(8, resource.DecimalSI)}
				}
			}
		})},
		"shares end with sharing": {Capacity, func(s *side) {
			inner := s.slice
			s.slice = func(slice *resourcev1.ResourceSlice, gone bool) {
				inner(slice, gone)
				for _, claim := range s.api.claims {
					if now := withoutShares(claim, slice); now != nil {
						s.api.watch(claim, now)
					}
				}
			}
		}},
		"devices are ready at once":     {Conditions, devices(func(d *resourcev1.Device) { d.BindingConditions = nil })},
		"missing slices are not missed": {BrokenPools, slices(func(s *resourcev1.ResourceSlice) { s.Spec.Pool.ResourceSliceCount = 1 })},
		"generations are equal":         {BrokenPools, slices(func(s *resourcev1.ResourceSlice) { s.Spec.Pool.Generation = 1 })},
		"devices of a selector are everywhere": {SharedPools, slices(func(s *resourcev1.ResourceSlice) {
			if s.Spec.NodeSelector != nil {
				all := true
				s.Spec.NodeSelector, s.Spec.AllNodes = nil, &all
			}
		})},
		"resources of a class are forgotten": {Extended, func(s *side) {
			inner := s.class
			s.class = func(c *resourcev1.DeviceClass, gone bool) {
				c = c.DeepCopy()
				c.Spec.ExtendedResourceName = nil
				inner(c, gone)
			}
		}},
		"claims of earlier tries are forgotten": {Extended, claims(func(c *resourcev1.ResourceClaim) { c.Annotations = nil })},
		"pods are not told of their claims": {Extended, func(s *side) {
			inner := s.api.watch
			s.api.watch = func(was, now *resourcev1.ResourceClaim) {
				clear(s.api.told)
				inner(was, now)
			}
		}},
		"the finalizer is left out": {Plain, func(s *side) {
			inner := s.api.watch
			s.api.watch = func(was, now *resourcev1.ResourceClaim) {
				if now != nil {
					now.Finalizers = nil
				}
				inner(was, now)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(150) {
				if _, err := Compare(context.Background(), mutant.category, seed, mutant.change); err != nil {
					return
				}
			}
			t.Error("nothing differs in 150 clusters")
		})
	}
}
