package storage_test

import (
	"maps"
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

// TestTaintRules: after each change, devices have their own taints and those of the rules that select them, in the order of the rules'
// names. The objects of the API stay as they are, and a slice stays the same object as long as nothing changes.
func TestTaintRules(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
		maybe := func(label string, from ...string) *string {
			if rapid.Bool().Draw(rt, label) {
				return new(pick(label, from...))
			}
			return nil
		}
		s, all, rules := storage.New(), make(map[string]*resourcev1.ResourceSlice), make(map[string]*resourcev1.DeviceTaintRule)
		for range 30 {
			name := pick("name", "a", "b", "c")
			switch pick("what", "slice", "rule", "no slice", "no rule") {
			case "slice":
				slice := &resourcev1.ResourceSlice{ObjectMeta: named("", name)}
				slice.Spec.Driver, slice.Spec.Pool.Name = pick("driver", "x", "y"), pick("pool", "p", "q")
				for _, device := range []string{"d0", "d1"} {
					d := resourcev1.Device{Name: device}
					if rapid.Bool().Draw(rt, "tainted") {
						d.Taints = append(make([]resourcev1.DeviceTaint, 0, 4), resourcev1.DeviceTaint{Key: "own"})
					}
					slice.Spec.Devices = append(slice.Spec.Devices, d)
				}
				all[name] = slice.DeepCopy()
				s.Set(slice)
			case "rule":
				rule := &resourcev1.DeviceTaintRule{ObjectMeta: named("", name)}
				rule.Spec.Taint = resourcev1.DeviceTaint{Key: "of-" + name, Value: pick("value", "1", "2"), Effect: resourcev1.DeviceTaintEffectNoSchedule}
				if rapid.IntRange(0, 4).Draw(rt, "selector") > 0 {
					rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{
						Driver: maybe("of driver", "x", "y"), Pool: maybe("of pool", "p", "q"), Device: maybe("device", "d0", "d1"),
					}
				}
				rules[name] = rule
				s.Set(rule)
			case "no slice":
				delete(all, name)
				s.Delete(&resourcev1.ResourceSlice{ObjectMeta: named("", name)})
			case "no rule":
				delete(rules, name)
				s.Delete(&resourcev1.DeviceTaintRule{ObjectMeta: named("", name)})
			}
			got := s.ResourceSlices()
			if !slices.Equal(got, s.ResourceSlices()) {
				rt.Fatal("slices are other objects when nothing has changed")
			}
			if len(got) != len(all) {
				rt.Fatalf("there are %d slices, want %d", len(got), len(all))
			}
			for i, name := range slices.Sorted(maps.Keys(all)) {
				if want := ruled(all[name], rules); !equality.Semantic.DeepEqual(got[i], want) {
					rt.Fatalf("slice %s is %+v, want %+v", name, got[i].Spec, want.Spec)
				}
			}
		}
	})
}

// ruled returns a slice with the taints of rules.
func ruled(slice *resourcev1.ResourceSlice, rules map[string]*resourcev1.DeviceTaintRule) *resourcev1.ResourceSlice {
	out := slice.DeepCopy()
	for i := range out.Spec.Devices {
		d := &out.Spec.Devices[i]
		for _, name := range slices.Sorted(maps.Keys(rules)) {
			of := rules[name].Spec.DeviceSelector
			if of != nil && (of.Driver == nil || *of.Driver == out.Spec.Driver) && (of.Pool == nil || *of.Pool == out.Spec.Pool.Name) &&
				(of.Device == nil || *of.Device == d.Name) {
				d.Taints = append(d.Taints, rules[name].Spec.Taint)
			}
		}
	}
	return out
}
