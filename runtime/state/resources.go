package state

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// Scalar is an amount of a resource without a field of its own in Resources: an extended
// resource, huge pages, or an attachable-volume count.
type Scalar struct {
	Name  v1.ResourceName
	Value int64
}

// Resources is a vector of resource amounts. The zero value is nothing.
type Resources struct {
	MilliCPU         int64 // thousandths of a CPU
	Memory           int64 // bytes
	EphemeralStorage int64 // bytes
	Pods             int64 // count
	// Scalars is sorted by name, with one entry per name.
	Scalars []Scalar
}

// NewResources converts a resource list of the API. Like kube-scheduler, it drops unsupported
// resources: unknown names without a domain. Amounts beyond an int64 are the nearest one.
func NewResources(list v1.ResourceList) Resources {
	var r Resources
	for name, q := range list {
		switch name {
		case v1.ResourceCPU:
			r.MilliCPU = quantity.Milli(q)
		case v1.ResourceMemory:
			r.Memory = quantity.Whole(q)
		case v1.ResourceEphemeralStorage:
			r.EphemeralStorage = quantity.Whole(q)
		case v1.ResourcePods:
			r.Pods = quantity.Whole(q)
		default:
			if IsScalarResource(name) {
				r.Scalars = append(r.Scalars, Scalar{Name: name, Value: quantity.Whole(q)})
			}
		}
	}
	slices.SortFunc(r.Scalars, func(a, b Scalar) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return r
}

// Amount returns the amount of a resource, 0 if there is none.
func (r *Resources) Amount(name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return r.MilliCPU
	case v1.ResourceMemory:
		return r.Memory
	case v1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	case v1.ResourcePods:
		return r.Pods
	}
	return r.Scalar(name)
}

// Scalar returns the amount of a scalar resource, 0 if there is none.
func (r *Resources) Scalar(name v1.ResourceName) int64 {
	for i := range r.Scalars {
		if r.Scalars[i].Name == name {
			return r.Scalars[i].Value
		}
	}
	return 0
}

// Equal reports whether the amounts are the same.
func (r *Resources) Equal(o *Resources) bool {
	return r.MilliCPU == o.MilliCPU && r.Memory == o.Memory && r.EphemeralStorage == o.EphemeralStorage && r.Pods == o.Pods &&
		slices.Equal(r.Scalars, o.Scalars)
}

// Add adds o to r. Sums stop at the largest int64.
func (r *Resources) Add(o *Resources) { r.accumulate(o, 1) }

// Sub subtracts o from r. A scalar that reaches zero keeps its entry. After a sum has stopped at the
// largest int64, the difference is not exact: see Full.
func (r *Resources) Sub(o *Resources) { r.accumulate(o, -1) }

// Full reports whether an amount of o is at the largest int64 in r, so that r may be less than the
// sum, and o cannot be subtracted.
func (r *Resources) Full(o *Resources) bool {
	full := func(amount, part int64) bool { return part != 0 && amount == math.MaxInt64 }
	if full(r.MilliCPU, o.MilliCPU) || full(r.Memory, o.Memory) || full(r.EphemeralStorage, o.EphemeralStorage) || full(r.Pods, o.Pods) {
		return true
	}
	for _, s := range o.Scalars {
		if full(r.Scalar(s.Name), s.Value) {
			return true
		}
	}
	return false
}

func (r *Resources) accumulate(o *Resources, sign int64) {
	r.MilliCPU = quantity.Sum(r.MilliCPU, sign*o.MilliCPU)
	r.Memory = quantity.Sum(r.Memory, sign*o.Memory)
	r.EphemeralStorage = quantity.Sum(r.EphemeralStorage, sign*o.EphemeralStorage)
	r.Pods = quantity.Sum(r.Pods, sign*o.Pods)
	for _, s := range o.Scalars {
		i, found := slices.BinarySearchFunc(r.Scalars, s.Name, func(e Scalar, name v1.ResourceName) int {
			return strings.Compare(string(e.Name), string(name))
		})
		if !found {
			r.Scalars = slices.Insert(r.Scalars, i, Scalar{Name: s.Name})
		}
		r.Scalars[i].Value = quantity.Sum(r.Scalars[i].Value, sign*s.Value)
	}
}

// Clone returns a copy that shares nothing with r.
func (r *Resources) Clone() Resources {
	c := *r
	c.Scalars = slices.Clone(r.Scalars)
	return c
}

// IsScalarResource reports whether the scheduler supports a resource beyond cpu, memory,
// ephemeral-storage and pods: extended resources, huge pages, native resources with the
// kubernetes.io/ prefix, and attachable volumes.
func IsScalarResource(name v1.ResourceName) bool {
	s := string(name)
	return IsExtendedResource(name) ||
		strings.HasPrefix(s, v1.ResourceHugePagesPrefix) ||
		strings.Contains(s, v1.ResourceDefaultNamespacePrefix) ||
		strings.HasPrefix(s, v1.ResourceAttachableVolumesPrefix)
}

// IsExtendedResource reports whether a name is that of an extended resource: it has a domain
// other than kubernetes.io, does not begin with "requests.", and is valid in a resource quota.
func IsExtendedResource(name v1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") &&
		!strings.Contains(s, v1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(s, v1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+s)) == 0
}
