package berth

import "strconv"

// Pod is the pod to be placed, or another pod of a call, as a view of its record. It is valid
// until the method that got it returns.
type Pod struct{ v *podView }

// Name is metadata.name. Reads `pod: name`.
func (p Pod) Name() string {
	p.v.need(podName)
	return str(p.v.name)
}

// UID is metadata.uid. Reads `pod: uid`.
func (p Pod) UID() string {
	p.v.need(podUID)
	return str(p.v.uid)
}

// Namespace is metadata.namespace. Reads `pod: namespace`.
func (p Pod) Namespace() ID {
	p.v.need(podNamespace)
	return first(p.v.namespace)
}

// NamespaceLabels are all labels of the pod's namespace, unordered. Reads `pod:
// namespaceLabels`.
func (p Pod) NamespaceLabels() []Pair {
	p.v.need(podNamespaceLabels)
	return p.v.namespaced
}

// NamespaceLabelByKey is the value of a label key of the pod's namespace; Absent if it does not
// have it. Reads `pod: namespaceLabels`.
func (p Pod) NamespaceLabelByKey(key ID) ID { return find(p.NamespaceLabels(), key) }

// NodeName is spec.nodeName; from Reserve on the chosen node's name. Reads `pod: nodeName`.
func (p Pod) NodeName() string {
	p.v.need(podNodeName)
	return str(p.v.nodeName)
}

// SchedulingGates are the names in spec.schedulingGates. Reads `pod: schedulingGates`.
func (p Pod) SchedulingGates() []ID {
	p.v.need(podGates)
	return p.v.gates
}

// Priority is spec.priority. Reads `pod: priority`.
func (p Pod) Priority() int64 {
	p.v.need(podPriority)
	return first(p.v.priority)
}

// Request is what the pod requests of a resource, in milli-CPU, bytes or a count.
// Reads `pod: requests`.
func (p Pod) Request(r Resource) int64 {
	p.v.need(podRequests)
	return p.v.requests[r]
}

// NonZeroRequested is milli-CPU and bytes requested, where a container without a
// request counts 100 milli-CPU and 200 MiB. Reads `pod: nonZeroRequested`.
func (p Pod) NonZeroRequested() (cpu, memory int64) {
	p.v.need(podNonZero)
	return p.v.nonZero[0], p.v.nonZero[1]
}

// Labels are all labels, unordered. Reads `pod: labels`.
func (p Pod) Labels() []Pair {
	p.v.need(podLabels)
	return p.v.labels
}

// LabelByKey is the value of a label key; Absent if the pod does not have it.
// Reads `pod: labels`.
func (p Pod) LabelByKey(key ID) ID { return find(p.Labels(), key) }

// Annotation is the value of a declared annotation key. Reads `pod: annotations`
// and `podAnnotations`.
func (p Pod) Annotation(key PodAnnotation) ID {
	p.v.need(podAnnotations)
	return p.v.annotations[key]
}

// Owner is `Kind/name` of the controlling owner; Absent if there is none. Reads `pod: owner`.
func (p Pod) Owner() ID {
	p.v.need(podOwner)
	return first(p.v.owner)
}

// ContainerRequest is what a container requests of a resource, in milli-CPU, bytes or a count. Reads `pod: containers`.
func (p Pod) ContainerRequest(c Container, r Resource) int64 {
	return p.v.later.ofContainerAmounts[c.first:][2*r]
}

// ContainerLimit is how much a container may use of a resource; −1 for as much as there is. Reads `pod: containers`.
func (p Pod) ContainerLimit(c Container, r Resource) int64 {
	return p.v.later.ofContainerAmounts[c.first:][2*r+1]
}

// Tolerations is spec.tolerations. Reads `pod: tolerations`.
func (p Pod) Tolerations() []Toleration {
	p.v.need(podTolerations)
	return p.v.tolerations
}

// Tolerates reports whether the pod tolerates a taint. Reads `pod: tolerations`.
func (p Pod) Tolerates(taint *Taint) bool {
	tolerations := p.Tolerations()
	for i := range tolerations {
		if tolerations[i].Tolerates(taint) {
			return true
		}
	}
	return false
}

// NodeSelector is spec.nodeSelector: all requirements must match. Reads `pod: nodeSelector`.
func (p Pod) NodeSelector() []Requirement {
	p.v.need(podSelector)
	return p.v.selector
}

// RequiredTerms is the required node affinity: if there is any, one term must match. Reads
// `pod: affinity`.
func (p Pod) RequiredTerms() (terms []Term, any bool) {
	p.v.need(podAffinity)
	return p.v.required, p.v.hasRequired
}

// PreferredTerms is the preferred node affinity. Reads `pod: affinity`.
func (p Pod) PreferredTerms() []Term {
	p.v.need(podAffinity)
	return p.v.preferred
}

// Requirements are those of a term: all must match. A term without requirements matches no
// node, unless it HasFields. Reads `pod: affinity`.
func (p Pod) Requirements(t Term) []Requirement {
	if t.count == 0 {
		return nil
	}
	return p.v.requirements[t.first:][:t.count:t.count]
}

// Values are the values of a requirement. Reads `pod: affinity` or `nodeSelector`.
func (p Pod) Values(r *Requirement) []ID {
	if r.count == 0 {
		return nil
	}
	return p.v.values[r.first:][:r.count:r.count]
}

// Holds reports whether a requirement matches a value of its label; Absent for a node without
// the label.
func (p Pod) Holds(r *Requirement, value ID) bool {
	if r.Operator == In { // the common case, small enough to be inlined
		return value != Absent && p.v.among(r, value)
	}
	return p.v.holds(r, value)
}

func (v *podView) holds(r *Requirement, value ID) bool {
	switch r.Operator {
	case NotIn:
		return value == Absent || !v.among(r, value)
	case Exists:
		return value != Absent
	case DoesNotExist:
		return value == Absent
	case Gt, Lt:
		n, err := strconv.ParseInt(v.core.columns.text(value), 10, 64)
		return err == nil && (r.Operator == Gt && n > r.Number || r.Operator == Lt && n < r.Number)
	}
	return false
}

// among reports whether a value is one of the requirement's.
func (v *podView) among(r *Requirement, value ID) bool {
	for _, w := range v.values[r.first:][:r.count] {
		if w == value {
			return true
		}
	}
	return false
}

// HostPorts are the host ports that the pod uses. Reads `pod: hostPorts`.
func (p Pod) HostPorts() []Port {
	p.v.need(podPorts)
	return p.v.ports
}

// Images are the image names of the containers, as nodes report them. Reads `pod: images`.
func (p Pod) Images() []ID {
	p.v.need(podImages)
	return p.v.images
}
