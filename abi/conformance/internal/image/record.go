package image

import (
	"maps"
	"slices"
	"strconv"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Record encodes a pod record (ABI-6). node is the chosen one, empty before reserve. unknown
// adds fields that no version has (ABI-6.2).
func (e *Encoder) Record(c *cluster.Cluster, p *cluster.Pod, node string, unknown bool) []byte {
	b := &recorder{e: e, p: p}
	if unknown {
		b.Field(100, 7)
		b.I64(-1)
	}
	if node == "" {
		node = p.Spec.NodeName
	}
	b.text("name", abi.PodName, p.Metadata.Name)
	b.text("nodeName", abi.PodNodeName, node)
	if e.Reads.HasPod("nodeSelector") {
		b.Field(abi.PodNodeSelector, 0)
		keys := slices.Sorted(maps.Keys(p.Spec.NodeSelector))
		e.ordered(len(keys), func(i int) {
			b.Requirement(b.requirement(&cluster.Requirement{Key: keys[i], Operator: "In", Values: []string{p.Spec.NodeSelector[keys[i]]}}))
		})
	}
	if e.Reads.HasPod("tolerations") {
		b.Field(abi.PodTolerations, 0)
		e.ordered(len(p.Spec.Tolerations), func(i int) { b.Toleration(e.toleration(&p.Spec.Tolerations[i])) })
	}
	if e.Reads.HasPod("hostPorts") {
		b.Field(abi.PodHostPorts, 0)
		all := ports(p)
		e.ordered(len(all), func(i int) { b.Port(e.port(all[i])) })
	}
	if e.Reads.HasPod("images") {
		b.Field(abi.PodImages, 0)
		e.ordered(len(p.Spec.Containers), func(i int) { b.ID(e.Dict.Intern(imageName(p.Spec.Containers[i].Image))) })
	}
	if e.Reads.HasPod("schedulingGates") {
		b.Field(abi.PodSchedulingGates, 0)
		e.ordered(len(p.Spec.SchedulingGates), func(i int) { b.ID(e.Dict.Intern(p.Spec.SchedulingGates[i].Name)) })
	}
	b.metadata()
	b.affinity()
	if e.Reads.HasPod("nonZeroRequested") {
		b.Field(abi.IncomingNonZero, 0)
		cpu, memory := p.NonZeroRequests()
		b.I64(cpu)
		b.I64(memory)
	}
	if e.Reads.HasPod("namespaceLabels") {
		b.Field(abi.IncomingNamespaceLabels, 0)
		if n := c.Namespace(p.Metadata.Namespace); n != nil {
			b.labels(n.Metadata.Labels)
		}
	}
	b.text("uid", abi.IncomingUID, p.Metadata.UID)
	b.later()
	if e.Reads.HasPod("now") {
		b.Field(abi.IncomingNow, 0)
		b.I64(e.Reads.Now(c.Now))
	}
	if unknown {
		b.Field(250, 0)
		b.Text("of a later version")
	}
	return slices.Clone(b.Bytes())
}

// recorder builds one record.
type recorder struct {
	wire.PodBuilder
	e            *Encoder
	p            *cluster.Pod
	requirements []wire.Requirement
	ids          []uint32
}

func (b *recorder) text(name string, id abi.ColumnID, value string) {
	if b.e.Reads.HasPod(name) {
		b.Field(id, 0)
		b.Text(value)
	}
}

func (b *recorder) labels(labels map[string]string) {
	keys := slices.Sorted(maps.Keys(labels))
	b.e.ordered(len(keys), func(i int) {
		b.Pair(wire.Pair{Key: b.e.Dict.Intern(keys[i]), Value: b.e.Dict.Intern(labels[keys[i]])})
	})
}

// later writes fields since ABI 1.1.
func (b *recorder) later() {
	if b.e.Reads.HasPod("createdAt") {
		b.Field(abi.IncomingCreatedAt, 0)
		b.I64(b.p.Metadata.CreatedAt())
	}
	for _, f := range []struct {
		name string
		id   abi.ColumnID
		text string
	}{
		{"priorityClass", abi.IncomingPriorityClass, b.p.Spec.PriorityClass},
		{"serviceAccount", abi.IncomingServiceAccount, b.p.Spec.ServiceAccount},
		{"preemptionPolicy", abi.IncomingPreemptionPolicy, b.p.PreemptionPolicy()}, {"group", abi.IncomingGroup, b.p.GroupName()},
	} {
		if b.e.Reads.HasPod(f.name) {
			b.Field(f.id, 0)
			b.ID(b.e.text(f.text))
		}
	}
	if b.e.Reads.HasPod("limits") {
		for k, resource := range b.e.Reads.Resources {
			b.Field(abi.IncomingLimits, uint32(k))
			b.I64(b.p.Limit(resource))
		}
	}
	if b.e.Reads.HasPod("qos") {
		b.Field(abi.IncomingQOS, 0)
		b.ID(b.e.Dict.Intern(b.p.QOS()))
	}
	if b.e.Reads.HasPod("containers") {
		b.containers()
	}
	if b.e.Reads.HasPod("claims") {
		b.Field(abi.IncomingClaims, 0)
		claims := b.p.Claims()
		b.e.ordered(len(claims), func(i int) { b.ID(b.e.Dict.Intern(claims[i])) })
	}
}

// containers writes fields 165 and 166.
func (b *recorder) containers() {
	var amounts []int64
	b.Field(abi.IncomingContainers, 0)
	for _, c := range b.p.Containers() {
		b.Container(wire.Container{
			Name: b.e.Dict.Intern(c.Name), Kind: wire.ContainerKind(c.Kind), Image: b.e.Dict.Intern(imageName(c.Image)), First: uint32(len(amounts)),
		})
		for _, resource := range b.e.Reads.Resources {
			amounts = append(amounts, c.Request(resource), c.Limit(resource))
		}
	}
	b.Field(abi.IncomingContainerAmounts, 0)
	for _, n := range amounts {
		b.I64(n)
	}
}

// metadata writes fields 140 to 145.
func (b *recorder) metadata() {
	r, d := b.e.Reads, b.e.Dict
	if r.HasPod("namespace") {
		b.Field(abi.IncomingNamespace, 0)
		b.ID(d.Intern(b.p.Metadata.Namespace))
	}
	if r.HasPod("priority") {
		b.Field(abi.IncomingPriority, 0)
		b.I64(int64(priority(b.p)))
	}
	if r.HasPod("requests") {
		for k, resource := range r.Resources {
			b.Field(abi.IncomingRequests, uint32(k))
			b.I64(b.p.Requests(resource))
		}
	}
	if r.HasPod("labels") {
		b.Field(abi.IncomingLabels, 0)
		b.labels(b.p.Metadata.Labels)
	}
	if r.HasPod("annotations") {
		for k, key := range r.PodAnnotations {
			b.Field(abi.IncomingAnnotations, uint32(k))
			b.ID(b.e.value(b.p.Metadata.Annotations, key))
		}
	}
	if r.HasPod("owner") {
		b.Field(abi.IncomingOwner, 0)
		b.ID(b.e.text(owner(b.p)))
	}
}

// affinity writes fields 146 to 149.
func (b *recorder) affinity() {
	r := b.e.Reads
	if r.HasPod("affinity") {
		affinity := &cluster.NodeAffinity{}
		if a := b.p.Spec.Affinity; a != nil && a.Node != nil {
			affinity = a.Node
		}
		if affinity.Required != nil {
			b.Field(abi.PodRequiredTerms, 0)
			b.e.ordered(len(affinity.Required.Terms), func(i int) { b.Term(b.term(&affinity.Required.Terms[i], 0)) })
		}
		b.Field(abi.PodPreferredTerms, 0)
		b.e.ordered(len(affinity.Preferred), func(i int) {
			b.Term(b.term(&affinity.Preferred[i].Term, affinity.Preferred[i].Weight))
		})
		b.Field(abi.PodRequirements, 0)
		for _, q := range b.requirements {
			b.Requirement(q)
		}
	}
	if r.HasPod("affinity") || r.HasPod("nodeSelector") {
		b.Field(abi.PodRequirementIDs, 0)
		for _, id := range b.ids {
			b.ID(id)
		}
	}
}

func (b *recorder) term(t *cluster.Term, weight int32) wire.Term {
	out := wire.Term{First: uint32(len(b.requirements)), Count: uint32(len(t.Expressions)), Weight: weight, Flags: uint32(b.e.Bits)}
	b.e.ordered(len(t.Expressions), func(i int) {
		b.requirements = append(b.requirements, b.requirement(&t.Expressions[i]))
	})
	if len(t.Fields) > 0 {
		out.Flags |= wire.TermHasFields
	}
	return out
}

func (b *recorder) requirement(q *cluster.Requirement) wire.Requirement {
	out := wire.Requirement{Key: b.e.Dict.Intern(q.Key), First: uint32(len(b.ids))}
	out.Op = map[string]wire.RequirementOperator{
		"In": wire.OpIn, "NotIn": wire.OpNotIn, "Exists": wire.OpExists, "DoesNotExist": wire.OpDoesNotExist, "Gt": wire.OpGt, "Lt": wire.OpLt,
	}[q.Operator]
	if out.Op == wire.OpGt || out.Op == wire.OpLt {
		out.Number, _ = strconv.ParseInt(q.Values[0], 10, 64)
		return out
	}
	out.Count = uint32(len(q.Values))
	b.e.ordered(len(q.Values), func(i int) { b.ids = append(b.ids, b.e.Dict.Intern(q.Values[i])) })
	return out
}

func (e *Encoder) toleration(t *cluster.Toleration) wire.Toleration {
	out := wire.Toleration{Operator: wire.Equal, Effect: effect(t.Effect), Seconds: -1}
	if t.Key != "" {
		out.Key = e.Dict.Intern(t.Key)
	}
	if t.Operator == "Exists" {
		out.Operator = wire.Exists
	} else {
		out.Value = e.Dict.Intern(t.Value)
	}
	if t.Seconds != nil {
		out.Seconds = *t.Seconds
	}
	return out
}

func (e *Encoder) port(p region.Port) wire.Port {
	ip := p.IP
	if ip == "" {
		ip = "0.0.0.0"
	}
	protocol := map[string]wire.Protocol{"": wire.TCP, "TCP": wire.TCP, "UDP": wire.UDP, "SCTP": wire.SCTP}[p.Protocol]
	return wire.Port{IP: e.Dict.Intern(ip), Port: p.Port, Protocol: protocol}
}

// text returns the id of a string, 0 for an empty one.
func (e *Encoder) text(s string) uint32 {
	if s == "" {
		return 0
	}
	return e.Dict.Intern(s)
}
