package mirror

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// podEncoder encodes the record of the pod to be placed (ABI-6), with strings in the
// plugin's dictionary.
type podEncoder struct {
	p            *Projection
	dict         *dictionary
	now          *int64 // of its source
	b            wire.PodBuilder
	ids          []uint32
	requirements []wire.Requirement
	amounts      []int64
	record       []byte
}

// encode returns the record; it is valid until the next call. namespace is the pod's; nil if
// its object is not known.
func (e *podEncoder) encode(pod *state.Pod, namespace *state.Namespace) []byte {
	e.b.Reset()
	e.ids, e.requirements, e.amounts = e.ids[:0], e.requirements[:0], e.amounts[:0]
	for i := range e.p.columns {
		if d := &e.p.columns[i]; d.Table == fields.Record && (d.ID != abi.PodRequiredTerms || pod.HasRequired) {
			for _, arg := range d.Args {
				e.b.Field(d.ID, uint32(arg))
				e.field(d.ID, arg, pod, namespace)
			}
		}
	}
	e.record = e.b.Bytes()
	return e.record
}

// field writes the elements of a field. Those that elements refer to come later, because their ids are higher.
func (e *podEncoder) field(id abi.ColumnID, arg int, pod *state.Pod, namespace *state.Namespace) {
	b := &e.b
	switch id {
	case abi.PodName:
		b.Text(pod.Name)
	case abi.PodNodeName:
		b.Text(pod.NodeName())
	case abi.PodHostPorts:
		for _, p := range pod.HostPorts {
			b.Port(wire.Port{IP: e.dict.Intern(p.IP), Port: p.Port, Protocol: p.Protocol})
		}
	case abi.PodImages:
		for _, image := range pod.Images {
			b.ID(e.dict.Intern(image))
		}
	case abi.PodSchedulingGates:
		for i := range pod.Object.Spec.SchedulingGates {
			b.ID(e.dict.Intern(pod.Object.Spec.SchedulingGates[i].Name))
		}
	case abi.IncomingNamespace:
		b.ID(e.dict.Intern(pod.Namespace))
	case abi.IncomingPriority:
		b.I64(int64(pod.Priority))
	case abi.IncomingRequests:
		b.I64(pod.Requests.Amount(e.p.resources[arg]))
	case abi.IncomingLabels:
		e.pairs(pod.Object.Labels)
	case abi.IncomingAnnotations:
		value, there := pod.Object.Annotations[e.p.podAnnotations[arg]]
		e.optional(value, there)
	case abi.IncomingOwner:
		e.name(ownerOf(pod.Object))
	case abi.IncomingNonZero:
		b.I64(pod.NonZeroCPU)
		b.I64(pod.NonZeroMemory)
	case abi.IncomingNamespaceLabels:
		if namespace != nil {
			e.pairs(namespace.Labels)
		}
	case abi.IncomingUID:
		b.Text(string(pod.UID))
	case abi.IncomingCreatedAt:
		b.I64(pod.CreatedAt())
	case abi.IncomingPriorityClass:
		e.name(pod.Object.Spec.PriorityClassName)
	case abi.IncomingServiceAccount:
		e.name(pod.Object.Spec.ServiceAccountName)
	case abi.IncomingPreemptionPolicy:
		e.name(string(pod.PreemptionPolicy()))
	case abi.IncomingGroup:
		e.name(pod.Group())
	case abi.IncomingLimits:
		b.I64(pod.Limit(e.p.resources[arg]))
	case abi.IncomingNow:
		b.I64(*e.now)
	case abi.IncomingQOS:
		e.name(string(pod.QOS()))
	case abi.IncomingContainers:
		e.containers(pod)
	case abi.IncomingContainerAmounts:
		for _, n := range e.amounts {
			b.I64(n)
		}
	case abi.IncomingClaims:
		for _, name := range pod.Claims() {
			b.ID(e.dict.Intern(name))
		}
	default:
		e.placement(id, pod)
	}
}

// placement writes the elements of a field that says on which nodes the pod may be.
func (e *podEncoder) placement(id abi.ColumnID, pod *state.Pod) {
	b := &e.b
	switch id {
	case abi.PodNodeSelector:
		for i := range pod.Selector {
			b.Requirement(e.requirement(&pod.Selector[i]))
		}
	case abi.PodTolerations:
		for i := range pod.Tolerations {
			if t := &pod.Tolerations[i]; t.Operator != v1.TolerationOpLt && t.Operator != v1.TolerationOpGt { // which the ABI has no number for
				b.Toleration(e.toleration(t))
			}
		}
	case abi.PodRequiredTerms:
		for i := range pod.Required {
			b.Term(e.term(&pod.Required[i]))
		}
	case abi.PodPreferredTerms:
		for i := range pod.Preferred {
			b.Term(e.term(&pod.Preferred[i]))
		}
	case abi.PodRequirements:
		for _, r := range e.requirements {
			b.Requirement(r)
		}
	case abi.PodRequirementIDs:
		for _, id := range e.ids {
			b.ID(id)
		}
	default:
		panic(fmt.Sprintf("BUG: mirror: nothing is written for field %d", id))
	}
}

// containers writes the containers, and notes their requests and limits.
func (e *podEncoder) containers(pod *state.Pod) {
	for _, c := range pod.Containers() {
		kind := wire.AppContainer
		switch {
		case c.Sidecar:
			kind = wire.Sidecar
		case c.Init:
			kind = wire.InitContainer
		}
		e.b.Container(wire.Container{
			Name: e.dict.Intern(c.Name), Kind: kind, Image: e.dict.Intern(c.Image), First: uint32(len(e.amounts)),
		})
		for _, resource := range e.p.resources {
			e.amounts = append(e.amounts, c.Request(resource), c.Limit(resource))
		}
	}
}

// optional writes the id of a text, 0 if there is none.
func (e *podEncoder) optional(text string, there bool) {
	if there {
		e.b.ID(e.dict.Intern(text))
	} else {
		e.b.ID(0)
	}
}

// name writes the id of a name, 0 if it is empty.
func (e *podEncoder) name(name string) { e.optional(name, name != "") }

func (e *podEncoder) pairs(labels map[string]string) {
	for _, key := range state.SortedKeys(labels) {
		e.b.Pair(wire.Pair{Key: e.dict.Intern(key), Value: e.dict.Intern(labels[key])})
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
