package input

import (
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

func (c *checker) pod(p *v1.Pod) {
	s := &p.Spec
	c.oneOf("spec.restartPolicy", string(s.RestartPolicy), "Always", "OnFailure", "Never")
	if s.PreemptionPolicy != nil {
		c.oneOf("spec.preemptionPolicy", string(*s.PreemptionPolicy), "PreemptLowerPriority", "Never")
	}
	if s.NodeName != "" && len(validation.IsDNS1123Subdomain(s.NodeName)) > 0 {
		c.bad("spec.nodeName", fmt.Sprintf("%q is not a node's name", s.NodeName), "write the name of a node, or remove it")
	}
	if s.NodeName != "" && len(s.SchedulingGates) > 0 {
		c.bad("spec.nodeName", "a pod with scheduling gates cannot have a node", "remove it, or the gates")
	}
	if len(s.Containers) == 0 {
		c.bad("spec.containers", "a pod needs a container", "write one, such as - name: main")
	}
	names := map[string]bool{}
	c.containers("spec.initContainers", s.InitContainers, s.HostNetwork, names)
	c.containers("spec.containers", s.Containers, s.HostNetwork, names)
	if s.Resources != nil {
		c.resources("spec.resources", s.Resources)
	}
	c.quantities("spec.overhead", s.Overhead)
	c.resourceNames("spec.overhead", s.Overhead)
	c.labels("spec.nodeSelector", s.NodeSelector)
	for i := range s.Tolerations {
		c.toleration(fmt.Sprintf("spec.tolerations[%d]", i), &s.Tolerations[i])
	}
	if s.Affinity != nil {
		c.affinity(s.Affinity)
	}
	for i := range s.TopologySpreadConstraints {
		c.spread(fmt.Sprintf("spec.topologySpreadConstraints[%d]", i), &s.TopologySpreadConstraints[i])
	}
	for i, gate := range s.SchedulingGates {
		c.key(fmt.Sprintf("spec.schedulingGates[%d].name", i), gate.Name)
	}
}

// containers checks names only where they are given: a file for a simulation may omit the name
// and the image.
func (c *checker) containers(path string, list []v1.Container, hostNetwork bool, names map[string]bool) {
	for i := range list {
		x := &list[i]
		if x.Name != "" {
			at := fmt.Sprintf("%s[%d].name", path, i)
			if names[x.Name] {
				c.bad(at, fmt.Sprintf("%q is the name of another container", x.Name), "rename one of them")
			}
			if len(validation.IsDNS1123Label(x.Name)) > 0 {
				c.bad(at, fmt.Sprintf("%q is not a valid name", x.Name), "use lower-case letters, digits and '-', at most 63")
			}
			names[x.Name] = true
		}
		if len(x.Resources.Requests) > 0 || len(x.Resources.Limits) > 0 {
			c.resources(fmt.Sprintf("%s[%d].resources", path, i), &x.Resources)
		}
		for j := range x.Ports {
			c.port(fmt.Sprintf("%s[%d].ports[%d]", path, i, j), &x.Ports[j], hostNetwork && path == "spec.containers")
		}
		if x.RestartPolicy != nil && path == "spec.initContainers" {
			c.oneOf(fmt.Sprintf("%s[%d].restartPolicy", path, i), string(*x.RestartPolicy), "Always", "OnFailure", "Never")
		}
	}
}

func (c *checker) port(at string, p *v1.ContainerPort, hostNetwork bool) {
	if len(validation.IsValidPortNum(int(p.ContainerPort))) > 0 {
		c.bad(at+".containerPort", fmt.Sprintf("%d is not a port", p.ContainerPort), "write 1 to 65535")
	}
	if p.HostPort != 0 && len(validation.IsValidPortNum(int(p.HostPort))) > 0 {
		c.bad(at+".hostPort", fmt.Sprintf("%d is not a port", p.HostPort), "write 1 to 65535, or remove it")
	} else if hostNetwork && p.HostPort != p.ContainerPort {
		c.bad(at+".hostPort", fmt.Sprintf("under hostNetwork it must be containerPort, %d", p.ContainerPort), "remove it")
	}
	c.oneOf(at+".protocol", string(p.Protocol), "TCP", "UDP", "SCTP")
}

// resources checks requests and limits, and that no request exceeds its limit.
func (c *checker) resources(path string, r *v1.ResourceRequirements) {
	for _, list := range []struct {
		path string
		list v1.ResourceList
	}{{path + ".requests", r.Requests}, {path + ".limits", r.Limits}} {
		c.quantities(list.path, list.list)
		c.resourceNames(list.path, list.list)
	}
	var wrong []v1.ResourceName
	for name, limit := range r.Limits {
		if request, ok := r.Requests[name]; ok && quantity.Compare(request, limit) > 0 {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		request, limit := r.Requests[name], r.Limits[name]
		c.bad(fmt.Sprintf("%s.requests[%s]", path, name), above(request, limit), "lower the request or raise the limit")
	}
}

func above(request, limit resource.Quantity) string {
	if quantity.Endless(request) || quantity.Endless(limit) {
		return "it is above the limit"
	}
	return fmt.Sprintf("%s is above the limit of %s", request.String(), limit.String())
}

func (c *checker) toleration(at string, t *v1.Toleration) {
	if t.Key != "" {
		c.key(at+".key", t.Key)
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		if t.Key == "" {
			c.bad(at+".operator", "without a key it must be Exists", "write a key, or operator: Exists to tolerate every taint")
		}
		c.labelValue(at+".value", t.Value)
	case v1.TolerationOpExists:
		if t.Value != "" {
			c.bad(at+".value", "Exists takes no value", "remove it, or write operator: Equal")
		}
	case v1.TolerationOpLt, v1.TolerationOpGt:
		if t.Key == "" {
			c.bad(at+".key", string(t.Operator)+" needs a key", "write the key of the taint")
		}
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			c.bad(at+".value", fmt.Sprintf("%q is not a whole number", t.Value), "write digits, in quotes, such as \"4\"")
		}
	default:
		c.oneOf(at+".operator", string(t.Operator), "Equal", "Exists", "Lt", "Gt")
	}
	if t.Effect != "" && !c.effect(at+".effect", t.Effect) {
		return
	}
	if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
		c.bad(at+".effect", "tolerationSeconds needs the effect NoExecute", "write effect: NoExecute, or remove tolerationSeconds")
	}
}

func (c *checker) effect(path string, e v1.TaintEffect) bool {
	return c.oneOf(path, string(e), "NoSchedule", "PreferNoSchedule", "NoExecute")
}

func (c *checker) spread(at string, t *v1.TopologySpreadConstraint) {
	if t.MaxSkew <= 0 {
		c.bad(at+".maxSkew", fmt.Sprintf("%d is not above 0", t.MaxSkew), "write 1 or more")
	}
	if t.MinDomains != nil && *t.MinDomains <= 0 {
		c.bad(at+".minDomains", fmt.Sprintf("%d is not above 0", *t.MinDomains), "write 1 or more")
	}
	c.given(at+".topologyKey", t.TopologyKey, "write a node label, such as "+v1.LabelHostname)
	c.oneOf(at+".whenUnsatisfiable", string(t.WhenUnsatisfiable), "DoNotSchedule", "ScheduleAnyway")
	for i, policy := range []*v1.NodeInclusionPolicy{t.NodeAffinityPolicy, t.NodeTaintsPolicy} {
		if policy != nil {
			c.oneOf(at+[]string{".nodeAffinityPolicy", ".nodeTaintsPolicy"}[i], string(*policy), "Honor", "Ignore")
		}
	}
	c.selector(at+".labelSelector", t.LabelSelector)
}
