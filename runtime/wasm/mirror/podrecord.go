package mirror

import (
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// podEncoder encodes the record of the pod to be placed (ABI-6), with strings in the
// plugin's dictionary.
type podEncoder struct {
	p            *Projection
	dict         *dictionary
	b            wire.PodBuilder
	ids          []uint32
	requirements []wire.Requirement
	record       []byte
}

// encode returns the record; it is valid until the next call. namespace is the pod's; nil if
// its object is not known.
func (e *podEncoder) encode(pod *state.Pod, namespace *state.Namespace) []byte {
	b, reads := &e.b, e.p.pod
	b.Reset()
	e.ids, e.requirements = e.ids[:0], e.requirements[:0]
	if reads["name"] {
		b.Field(abi.PodName, 0)
		b.Text(pod.Name)
	}
	if reads["nodeName"] {
		b.Field(abi.PodNodeName, 0)
		b.Text(pod.NodeName())
	}
	if reads["nodeSelector"] {
		b.Field(abi.PodNodeSelector, 0)
		for i := range pod.Selector {
			b.Requirement(e.requirement(&pod.Selector[i]))
		}
	}
	if reads["tolerations"] {
		b.Field(abi.PodTolerations, 0)
		for i := range pod.Tolerations {
			if t := &pod.Tolerations[i]; t.Operator != v1.TolerationOpLt && t.Operator != v1.TolerationOpGt { // which the ABI has no number for
				b.Toleration(e.toleration(t))
			}
		}
	}
	if reads["hostPorts"] {
		b.Field(abi.PodHostPorts, 0)
		for _, p := range pod.HostPorts {
			b.Port(wire.Port{IP: e.dict.Intern(p.IP), Port: p.Port, Protocol: p.Protocol})
		}
	}
	if reads["images"] {
		b.Field(abi.PodImages, 0)
		for _, image := range pod.Images {
			b.ID(e.dict.Intern(image))
		}
	}
	if reads["schedulingGates"] {
		b.Field(abi.PodSchedulingGates, 0)
		for i := range pod.Object.Spec.SchedulingGates {
			b.ID(e.dict.Intern(pod.Object.Spec.SchedulingGates[i].Name))
		}
	}
	e.metadata(pod)
	e.affinity(pod)
	if reads["nonZeroRequested"] {
		b.Field(abi.IncomingNonZero, 0)
		b.I64(pod.NonZeroCPU)
		b.I64(pod.NonZeroMemory)
	}
	if reads["namespaceLabels"] {
		b.Field(abi.IncomingNamespaceLabels, 0)
		if namespace != nil {
			e.pairs(namespace.Labels)
		}
	}
	if reads["uid"] {
		b.Field(abi.IncomingUID, 0)
		b.Text(string(pod.UID))
	}
	e.record = b.Bytes()
	return e.record
}

// metadata writes namespace, priority, requests, labels, annotations and owner.
func (e *podEncoder) metadata(pod *state.Pod) {
	b, reads := &e.b, e.p.pod
	if reads["namespace"] {
		b.Field(abi.IncomingNamespace, 0)
		b.ID(e.dict.Intern(pod.Namespace))
	}
	if reads["priority"] {
		b.Field(abi.IncomingPriority, 0)
		b.I64(int64(pod.Priority))
	}
	if reads["requests"] {
		for i, name := range e.p.resources {
			b.Field(abi.IncomingRequests, uint32(i))
			b.I64(pod.Requests.Amount(name))
		}
	}
	if reads["labels"] {
		b.Field(abi.IncomingLabels, 0)
		e.pairs(pod.Object.Labels)
	}
	if reads["annotations"] {
		for i, key := range e.p.podAnnotations {
			b.Field(abi.IncomingAnnotations, uint32(i))
			if value, ok := pod.Object.Annotations[key]; ok {
				b.ID(e.dict.Intern(value))
			} else {
				b.ID(0)
			}
		}
	}
	if reads["owner"] {
		b.Field(abi.IncomingOwner, 0)
		if owner := ownerOf(pod.Object); owner != "" {
			b.ID(e.dict.Intern(owner))
		} else {
			b.ID(0)
		}
	}
}

func (e *podEncoder) pairs(labels map[string]string) {
	for _, key := range state.SortedKeys(labels) {
		e.b.Pair(wire.Pair{Key: e.dict.Intern(key), Value: e.dict.Intern(labels[key])})
	}
}

// affinity writes the terms of node affinity, and what they and the node selector refer
// to.
func (e *podEncoder) affinity(pod *state.Pod) {
	b, reads := &e.b, e.p.pod
	if reads["affinity"] {
		if pod.HasRequired {
			b.Field(abi.PodRequiredTerms, 0)
			for i := range pod.Required {
				b.Term(e.term(&pod.Required[i]))
			}
		}
		b.Field(abi.PodPreferredTerms, 0)
		for i := range pod.Preferred {
			b.Term(e.term(&pod.Preferred[i]))
		}
		b.Field(abi.PodRequirements, 0)
		for _, r := range e.requirements {
			b.Requirement(r)
		}
	}
	if reads["affinity"] || reads["nodeSelector"] {
		b.Field(abi.PodRequirementIDs, 0)
		for _, id := range e.ids {
			b.ID(id)
		}
	}
}

func (e *podEncoder) requirement(r *state.Requirement) wire.Requirement {
	out := wire.Requirement{
		Key: e.dict.Intern(r.Key), Op: operator(r.Op), First: uint32(len(e.ids)), Count: uint32(len(r.Values)), Number: r.Number,
	}
	for _, value := range r.Values {
		e.ids = append(e.ids, e.dict.Intern(value))
	}
	return out
}

func (e *podEncoder) term(t *state.Term) wire.Term {
	out := wire.Term{First: uint32(len(e.requirements)), Count: uint32(len(t.Labels)), Weight: t.Weight}
	for i := range t.Labels {
		e.requirements = append(e.requirements, e.requirement(&t.Labels[i]))
	}
	if t.Err != nil {
		out.Flags |= wire.TermUnusable
	}
	if len(t.Fields) > 0 {
		out.Flags |= wire.TermHasFields
	}
	return out
}

func (e *podEncoder) toleration(t *v1.Toleration) wire.Toleration {
	out := wire.Toleration{Operator: wire.Equal, Effect: state.TaintEffect(t.Effect), Seconds: -1}
	if t.Key != "" {
		out.Key = e.dict.Intern(t.Key)
	}
	if t.Operator == v1.TolerationOpExists {
		out.Operator = wire.Exists
	} else {
		out.Value = e.dict.Intern(t.Value)
	}
	if t.TolerationSeconds != nil {
		out.Seconds = *t.TolerationSeconds
	}
	return out
}

func operator(op v1.NodeSelectorOperator) wire.RequirementOperator {
	switch op {
	case v1.NodeSelectorOpIn:
		return wire.OpIn
	case v1.NodeSelectorOpNotIn:
		return wire.OpNotIn
	case v1.NodeSelectorOpExists:
		return wire.OpExists
	case v1.NodeSelectorOpDoesNotExist:
		return wire.OpDoesNotExist
	case v1.NodeSelectorOpGt:
		return wire.OpGt
	case v1.NodeSelectorOpLt:
		return wire.OpLt
	}
	return 0
}
