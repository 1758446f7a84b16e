package berth

import "github.com/berth-scheduler/berth/abi"

// podView has the fields of a pod record as slices. It is rebuilt for each record.
type podView struct {
	core        *core
	index       int     // in the pod list; −1 for a pod that is not the call's
	requests    []int64 // by resource
	limits      []int64 // likewise, if they are declared
	annotations []ID    // by key
	podFields
	later laterFields
}

type podFields struct {
	name         []byte
	namespace    []ID
	priority     []int64
	labels       []Pair
	owner        []ID
	tolerations  []Toleration
	selector     []Requirement
	required     []Term
	hasRequired  bool
	preferred    []Term
	requirements []Requirement
	values       []ID
	ports        []Port
	images       []ID
	nonZero      []int64
	namespaced   []Pair
	uid          []byte
	nodeName     []byte
	gates        []ID
}

// prepare makes room for the fields of declared keys.
func (v *podView) prepare(c *core) {
	v.core = c
	v.requests = make([]int64, len(c.reads.lists[listResources]))
	if c.reads.pod&podLimits != 0 {
		v.limits = make([]int64, len(v.requests))
	}
	v.annotations = make([]ID, len(c.reads.lists[listPodAnnotations]))
}

// parse reads a pod record, the index-th of the pod list.
func (v *podView) parse(m *memory, address, size uint32, index int) {
	v.index = index
	v.podFields, v.later = podFields{}, laterFields{}
	clear(v.requests)
	clear(v.limits)
	clear(v.annotations)
	if size < abi.PodHeaderSize {
		return
	}
	for _, f := range view[podField](m, address+abi.PodHeaderSize, at[podHeader](m, address).nFields) {
		from := address + f.offset
		switch f.id {
		case abi.PodName:
			v.name = view[byte](m, from, f.count)
		case abi.IncomingNamespace:
			v.namespace = view[ID](m, from, f.count)
		case abi.IncomingPriority:
			v.priority = view[int64](m, from, f.count)
		case abi.IncomingRequests:
			single(m, from, f, v.requests)
		case abi.IncomingLimits:
			single(m, from, f, v.limits)
		case abi.IncomingLabels:
			v.labels = view[Pair](m, from, f.count)
		case abi.IncomingAnnotations:
			single(m, from, f, v.annotations)
		case abi.IncomingOwner:
			v.owner = view[ID](m, from, f.count)
		case abi.PodTolerations:
			v.tolerations = view[Toleration](m, from, f.count)
		case abi.PodNodeSelector:
			v.selector = view[Requirement](m, from, f.count)
		case abi.PodRequiredTerms:
			v.required, v.hasRequired = view[Term](m, from, f.count), true
		case abi.PodPreferredTerms:
			v.preferred = view[Term](m, from, f.count)
		case abi.PodRequirements:
			v.requirements = view[Requirement](m, from, f.count)
		case abi.PodRequirementIDs:
			v.values = view[ID](m, from, f.count)
		case abi.PodHostPorts:
			v.ports = view[Port](m, from, f.count)
		case abi.PodImages:
			v.images = view[ID](m, from, f.count)
		case abi.IncomingNonZero:
			v.nonZero = view[int64](m, from, f.count)
		case abi.IncomingNamespaceLabels:
			v.namespaced = view[Pair](m, from, f.count)
		case abi.IncomingUID:
			v.uid = view[byte](m, from, f.count)
		case abi.PodNodeName:
			v.nodeName = view[byte](m, from, f.count)
		case abi.PodSchedulingGates:
			v.gates = view[ID](m, from, f.count)
		default:
			v.later.set(m, from, &f)
		}
	}
}

// single stores a field with one element by its arg.
func single[T any](m *memory, from uint32, f podField, to []T) {
	if f.count > 0 && uint64(f.arg) < uint64(len(to)) {
		to[f.arg] = *at[T](m, from)
	}
}

// need panics if the manifest does not declare a field.
func (v *podView) need(f podRead) {
	if v.core.reads.pod&f == 0 {
		undeclared(f)
	}
}

// first returns the only element of a field.
func first[T any](s []T) T {
	if len(s) == 0 {
		var zero T
		return zero
	}
	return s[0]
}
