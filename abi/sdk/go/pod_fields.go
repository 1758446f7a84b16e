package berth

import "github.com/berth-scheduler/berth/abi"

// Generated from abi/fields.

// laterFields has the fields of the pod record that came after ABI 1.0.
type laterFields struct {
	ofCreatedAt        []int64
	ofPriorityClass    []ID
	ofServiceAccount   []ID
	ofPreemptionPolicy []ID
	ofGroup            []ID
	ofQOS              []ID
	ofClaims           []ID
	ofNow              []int64
	ofContainers       []Container
	ofContainerAmounts []int64
}

// set makes the slice of a field. It skips unknown fields.
func (l *laterFields) set(m *memory, from uint32, f *podField) {
	switch f.id {
	case abi.IncomingCreatedAt:
		l.ofCreatedAt = view[int64](m, from, f.count)
	case abi.IncomingPriorityClass:
		l.ofPriorityClass = view[ID](m, from, f.count)
	case abi.IncomingServiceAccount:
		l.ofServiceAccount = view[ID](m, from, f.count)
	case abi.IncomingPreemptionPolicy:
		l.ofPreemptionPolicy = view[ID](m, from, f.count)
	case abi.IncomingGroup:
		l.ofGroup = view[ID](m, from, f.count)
	case abi.IncomingQOS:
		l.ofQOS = view[ID](m, from, f.count)
	case abi.IncomingClaims:
		l.ofClaims = view[ID](m, from, f.count)
	case abi.IncomingNow:
		l.ofNow = view[int64](m, from, f.count)
	case abi.IncomingContainers:
		l.ofContainers = view[Container](m, from, f.count)
	case abi.IncomingContainerAmounts:
		l.ofContainerAmounts = view[int64](m, from, f.count)
	}
}

// CreatedAt is metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pod: createdAt`.
func (p Pod) CreatedAt() int64 {
	p.v.need(podCreatedAt)
	return first(p.v.later.ofCreatedAt)
}

// PriorityClass is spec.priorityClassName; 0 for none. Reads `pod: priorityClass`.
func (p Pod) PriorityClass() ID {
	p.v.need(podPriorityClass)
	return first(p.v.later.ofPriorityClass)
}

// ServiceAccount is spec.serviceAccountName; 0 for none. Reads `pod: serviceAccount`.
func (p Pod) ServiceAccount() ID {
	p.v.need(podServiceAccount)
	return first(p.v.later.ofServiceAccount)
}

// PreemptionPolicy is spec.preemptionPolicy; PreemptLowerPriority if it is not set. Reads `pod: preemptionPolicy`.
func (p Pod) PreemptionPolicy() ID {
	p.v.need(podPreemptionPolicy)
	return first(p.v.later.ofPreemptionPolicy)
}

// Group is spec.schedulingGroup.podGroupName; 0 for none. Reads `pod: group`.
func (p Pod) Group() ID {
	p.v.need(podGroup)
	return first(p.v.later.ofGroup)
}

// QOS is the QoS class: Guaranteed, Burstable or BestEffort. Reads `pod: qos`.
func (p Pod) QOS() ID {
	p.v.need(podQOS)
	return first(p.v.later.ofQOS)
}

// Now is the time in seconds since 1970, in steps of `resolution`; 0 at queueSort, hint, unreserve and from preBind on (6.7). Reads `pod: now`.
func (p Pod) Now() int64 {
	p.v.need(podNow)
	return first(p.v.later.ofNow)
}

// Claims are names of the persistent volume claims of spec.volumes, also of ephemeral ones. Reads `pod: claims`.
func (p Pod) Claims() []ID {
	p.v.need(podClaims)
	return p.v.later.ofClaims
}

// Containers are init containers, and then the others, each in the order of spec. Reads `pod: containers`.
func (p Pod) Containers() []Container {
	p.v.need(podContainers)
	return p.v.later.ofContainers
}

// Limit is, of a resource, how much the pod may use; −1 if a container has no limit. Reads `pod: limits`.
func (p Pod) Limit(r Resource) int64 {
	p.v.need(podLimits)
	return p.v.limits[r]
}
