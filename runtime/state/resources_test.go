package state_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

// asMap returns a vector as amounts, without zeros.
func asMap(r *state.Resources) amounts {
	out := amounts{v1.ResourceCPU: r.MilliCPU, v1.ResourceMemory: r.Memory, v1.ResourceEphemeralStorage: r.EphemeralStorage, v1.ResourcePods: r.Pods}
	for _, s := range r.Scalars {
		out[s.Name] = s.Value
	}
	maps.DeleteFunc(out, func(_ v1.ResourceName, n int64) bool { return n == 0 })
	return out
}

func drawList(t *rapid.T, what string) amounts {
	return rapid.MapOf(rapid.SampledFrom([]v1.ResourceName{
		v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods,
		"nvidia.com/gpu", "amd.com/gpu", "hugepages-2Mi", "vendor.example/nic",
	}), rapid.Int64Range(0, 100)).Draw(t, what)
}

// TestResourcesArithmetic: vectors add and subtract as maps do, for any names.
func TestResourcesArithmetic(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		var sum state.Resources
		model := amounts{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			list := drawList(t, "list")
			r := state.NewResources(list.list())
			kept := sum.Clone()
			before := asMap(&kept)
			if rapid.Bool().Draw(t, "add") {
				sum.Add(&r)
				model = model.plus(list)
			} else {
				sum.Sub(&r)
				for name, n := range list {
					model[name] -= n
				}
			}
			if !maps.Equal(asMap(&kept), before) {
				t.Fatalf("a clone changed with its origin")
			}
		}
		maps.DeleteFunc(model, func(_ v1.ResourceName, n int64) bool { return n == 0 })
		if got := asMap(&sum); !maps.Equal(got, model) {
			t.Fatalf("the sum is %v, want %v", got, model)
		}
		for name := range model {
			if state.IsScalarResource(name) && sum.Scalar(name) != model[name] {
				t.Fatalf("Scalar(%s) = %d, want %d", name, sum.Scalar(name), model[name])
			}
		}
		if !slices.IsSortedFunc(sum.Scalars, func(a, b state.Scalar) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
			t.Fatalf("scalars are not sorted: %v", sum.Scalars)
		}
		if len(slices.CompactFunc(slices.Clone(sum.Scalars), func(a, b state.Scalar) bool { return a.Name == b.Name })) != len(sum.Scalars) {
			t.Fatalf("a scalar has two entries: %v", sum.Scalars)
		}
	})
}

func TestResourceNames(t *testing.T) {
	cases := map[v1.ResourceName]struct{ scalar, extended bool }{
		"cpu":                              {},
		"plain":                            {},
		"nvidia.com/gpu":                   {true, true},
		"hugepages-2Mi":                    {true, false},
		"attachable-volumes-aws-ebs":       {true, false},
		"kubernetes.io/batteries":          {true, false},
		"requests.nvidia.com/gpu":          {},
		"nvidia.com/":                      {},
		"bad name.com/gpu":                 {},
		v1.ResourceName(long + ".com/gpu"): {},
	}
	for name, want := range cases {
		if got := state.IsScalarResource(name); got != want.scalar {
			t.Errorf("IsScalarResource(%q) = %v", name, got)
		}
		if got := state.IsExtendedResource(name); got != want.extended {
			t.Errorf("IsExtendedResource(%q) = %v", name, got)
		}
	}
}

// long is a valid domain that leaves no room for the prefix of quotas.
var long = strings.Repeat(strings.Repeat("a", 61)+".", 4)
