package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/fields"
)

// ExpectPod returns the fields of a pod's record (ABI-6). node is the chosen one,
// empty before reserve.
func ExpectPod(r *Reads, c *cluster.Cluster, p *cluster.Pod, node string) Cells {
	out := Cells{}
	r.each(fields.Record, func(id abi.ColumnID, arg int) {
		if text, there := field(r, c, p, node, id, arg); there {
			out[Key(id, arg)] = text
		}
	})
	return out
}

// At returns a cluster as a call of a point shows it: some calls have no time.
func At(p abi.Point, c *cluster.Cluster) *cluster.Cluster {
	if fields.Of(abi.IncomingNow).Points.Has(p) {
		return c
	}
	without := *c
	without.Now = 0
	return &without
}

// field returns what a field shows; there is false if it is absent, or shown where it is referenced.
func field(r *Reads, c *cluster.Cluster, p *cluster.Pod, node string, id abi.ColumnID, arg int) (text string, there bool) {
	switch id {
	case abi.PodName:
		return quote(p.Metadata.Name), true
	case abi.PodNodeName:
		return quote(cmp.Or(node, p.Spec.NodeName)), true
	case abi.IncomingUID:
		return quote(p.Metadata.UID), true
	case abi.IncomingNamespace:
		return quote(p.Metadata.Namespace), true
	case abi.IncomingPriority:
		return number(priority(p)), true
	case abi.IncomingRequests:
		return number(p.Requests(r.Resources[arg])), true
	case abi.IncomingNonZero:
		cpu, memory := p.NonZeroRequests()
		return fmt.Sprintf("%d, %d", cpu, memory), true
	case abi.IncomingLabels:
		return pairs(p.Metadata.Labels), true
	case abi.IncomingAnnotations:
		return value(p.Metadata.Annotations, r.PodAnnotations[arg]), true
	case abi.IncomingOwner:
		return Owner(p), true
	case abi.IncomingCreatedAt:
		return number(p.Metadata.CreatedAt()), true
	case abi.IncomingPriorityClass:
		return named(p.Spec.PriorityClass), true
	case abi.IncomingServiceAccount:
		return named(p.Spec.ServiceAccount), true
	case abi.IncomingPreemptionPolicy:
		return named(p.PreemptionPolicy()), true
	case abi.IncomingGroup:
		return named(p.GroupName()), true
	case abi.IncomingLimits:
		return number(p.Limit(r.Resources[arg])), true
	case abi.IncomingNow:
		return number(r.Now(c.Now)), true
	case abi.IncomingQOS:
		return quote(p.QOS()), true
	case abi.IncomingContainers:
		return containers(r, p), true
	case abi.PodRequirements, abi.PodRequirementIDs, abi.IncomingContainerAmounts:
		return "", false
	}
	var all []string
	switch id {
	case abi.PodNodeSelector:
		for key, value := range p.Spec.NodeSelector {
			all = append(all, requirement(&cluster.Requirement{Key: key, Operator: "In", Values: []string{value}}))
		}
	case abi.PodTolerations:
		for i := range p.Spec.Tolerations {
			all = append(all, toleration(&p.Spec.Tolerations[i]))
		}
	case abi.PodHostPorts:
		all = hostPorts(p)
	case abi.PodImages:
		for i := range p.Spec.Containers {
			all = append(all, quote(ImageName(p.Spec.Containers[i].Image)))
		}
	case abi.PodSchedulingGates:
		for _, gate := range p.Spec.SchedulingGates {
			all = append(all, quote(gate.Name))
		}
	case abi.IncomingClaims:
		for _, name := range p.Claims() {
			all = append(all, quote(name))
		}
	case abi.PodRequiredTerms, abi.PodPreferredTerms:
		return terms(p, id)
	case abi.IncomingNamespaceLabels:
		if n := c.Namespace(p.Metadata.Namespace); n != nil {
			return pairs(n.Metadata.Labels), true
		}
	default:
		panic(fmt.Sprintf("BUG: view: nobody knows what field %d shows", id))
	}
	return list(all), true
}

// containers returns them in their order, which says what ran first.
func containers(r *Reads, p *cluster.Pod) string {
	var all []string
	for _, c := range p.Containers() {
		text := fmt.Sprintf("%s %d %s", quote(c.Name), c.Kind, quote(ImageName(c.Image)))
		for _, resource := range r.Resources {
			text += fmt.Sprintf(" %d/%d", c.Request(resource), c.Limit(resource))
		}
		all = append(all, "("+text+")")
	}
	return strings.Join(all, " ")
}

// named returns a name as a cell, which is absent if it is empty.
func named(name string) string {
	if name == "" {
		return absent
	}
	return quote(name)
}

// terms returns those of node affinity. Field 146 is absent if there is none (ABI-6.2).
func terms(p *cluster.Pod, id abi.ColumnID) (text string, there bool) {
	affinity := &cluster.NodeAffinity{}
	if a := p.Spec.Affinity; a != nil && a.Node != nil {
		affinity = a.Node
	}
	var all []string
	if id == abi.PodPreferredTerms {
		for i := range affinity.Preferred {
			all = append(all, term(&affinity.Preferred[i].Term, affinity.Preferred[i].Weight))
		}
		return list(all), true
	}
	if affinity.Required == nil {
		return "", false
	}
	for i := range affinity.Required.Terms {
		all = append(all, term(&affinity.Required.Terms[i], 0))
	}
	return list(all), true
}

// requirement is one requirement on a label: key, operator, sorted values, operand.
func requirement(q *cluster.Requirement) string {
	var values []string
	for _, v := range q.Values {
		values = append(values, quote(v))
	}
	if q.Operator == "Gt" || q.Operator == "Lt" {
		n, _ := strconv.ParseInt(q.Values[0], 10, 64)
		return fmt.Sprintf("(%q %s %d)", q.Key, q.Operator, n)
	}
	return fmt.Sprintf("(%q %s %s)", q.Key, q.Operator, list(values))
}

func term(t *cluster.Term, weight int32) string {
	var all []string
	for i := range t.Expressions {
		all = append(all, requirement(&t.Expressions[i]))
	}
	flags := "0"
	if len(t.Fields) > 0 {
		flags = "2"
	}
	return fmt.Sprintf("{%s weight=%d flags=%s}", list(all), weight, flags)
}

// toleration returns key, operator, value, effect and seconds.
func toleration(t *cluster.Toleration) string {
	key, operator, value, effect, seconds := absent, "Equal", quote(t.Value), "all", int64(-1)
	if t.Key != "" {
		key = quote(t.Key)
	}
	if t.Operator == "Exists" {
		operator, value = "Exists", absent
	}
	if t.Effect != "" {
		effect = t.Effect
	}
	if t.Seconds != nil {
		seconds = *t.Seconds
	}
	return strings.Join([]string{"(" + key, operator, value, effect, number(seconds) + ")"}, " ")
}
