package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// ExpectPod returns the fields of a pod's record (ABI-6). node is the chosen one,
// empty before reserve.
func ExpectPod(r *Reads, c *cluster.Cluster, p *cluster.Pod, node string) Cells {
	out := Cells{}
	text := func(name string, id abi.ColumnID, value string) {
		out.when(r.HasPod(name), id, 0, func() string { return quote(value) })
	}
	text("name", abi.PodName, p.Metadata.Name)
	if node == "" {
		node = p.Spec.NodeName
	}
	text("nodeName", abi.PodNodeName, node)
	text("uid", abi.IncomingUID, p.Metadata.UID)
	out.when(r.HasPod("nodeSelector"), abi.PodNodeSelector, 0, func() string {
		var all []string
		for key, value := range p.Spec.NodeSelector {
			all = append(all, requirement(&cluster.Requirement{Key: key, Operator: "In", Values: []string{value}}))
		}
		return list(all)
	})
	out.when(r.HasPod("tolerations"), abi.PodTolerations, 0, func() string {
		var all []string
		for i := range p.Spec.Tolerations {
			all = append(all, toleration(&p.Spec.Tolerations[i]))
		}
		return list(all)
	})
	out.when(r.HasPod("hostPorts"), abi.PodHostPorts, 0, func() string { return list(hostPorts(p)) })
	out.when(r.HasPod("images"), abi.PodImages, 0, func() string {
		var all []string
		for i := range p.Spec.Containers {
			all = append(all, quote(ImageName(p.Spec.Containers[i].Image)))
		}
		return list(all)
	})
	out.when(r.HasPod("schedulingGates"), abi.PodSchedulingGates, 0, func() string {
		var all []string
		for _, gate := range p.Spec.SchedulingGates {
			all = append(all, quote(gate.Name))
		}
		return list(all)
	})
	expectMetadata(r, c, p, out)
	if r.HasPod("affinity") {
		expectAffinity(p, out)
	}
	out.when(r.HasPod("nonZeroRequested"), abi.IncomingNonZero, 0, func() string {
		cpu, memory := p.NonZeroRequests()
		return fmt.Sprintf("%d, %d", cpu, memory)
	})
	return out
}

func expectMetadata(r *Reads, c *cluster.Cluster, p *cluster.Pod, out Cells) {
	out.when(r.HasPod("namespace"), abi.IncomingNamespace, 0, func() string { return quote(p.Metadata.Namespace) })
	out.when(r.HasPod("priority"), abi.IncomingPriority, 0, func() string { return number(priority(p)) })
	if r.HasPod("requests") {
		for k, resource := range r.Resources {
			out[Key(abi.IncomingRequests, k)] = number(p.Requests(resource))
		}
	}
	out.when(r.HasPod("labels"), abi.IncomingLabels, 0, func() string { return pairs(p.Metadata.Labels) })
	if r.HasPod("annotations") {
		out.keyed(abi.IncomingAnnotations, r.PodAnnotations, p.Metadata.Annotations)
	}
	out.when(r.HasPod("owner"), abi.IncomingOwner, 0, func() string { return Owner(p) })
	out.when(r.HasPod("namespaceLabels"), abi.IncomingNamespaceLabels, 0, func() string {
		if n := c.Namespace(p.Metadata.Namespace); n != nil {
			return pairs(n.Metadata.Labels)
		}
		return list(nil)
	})
}

func expectAffinity(p *cluster.Pod, out Cells) {
	var required, preferred []string
	has := false
	if a := p.Spec.Affinity; a != nil && a.Node != nil {
		if a.Node.Required != nil {
			has = true
			for i := range a.Node.Required.Terms {
				required = append(required, term(&a.Node.Required.Terms[i], 0))
			}
		}
		for i := range a.Node.Preferred {
			preferred = append(preferred, term(&a.Node.Preferred[i].Term, a.Node.Preferred[i].Weight))
		}
	}
	if has { // 6.2: field 146 is absent if there is none
		out[Key(abi.PodRequiredTerms, 0)] = list(required)
	}
	out[Key(abi.PodPreferredTerms, 0)] = list(preferred)
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
