package generate

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// cluster is the existing objects while a scenario is drawn.
type cluster struct {
	g       *Generator
	nodes   []*v1.Node
	pods    []*v1.Pod
	storage storage
}

func (c *cluster) names() []string {
	out := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = n.Name
	}
	return out
}

// begin draws the first state.
func (c *cluster) begin() scenario.Objects {
	g := c.g
	var o scenario.Objects
	for i := range numNamespaces {
		if g.chance(0.9) {
			o.Namespaces = append(o.Namespaces, g.namespace(i))
		}
	}
	nodes := 2 + g.upTo(12)
	if g.plugin == "VolumeBinding" || g.plugin == "VolumeZone" {
		nodes += g.upTo(30) // most of their pods are skipped, or rejected before nodes are evaluated
	}
	if g.chance(0.02) {
		nodes = 100 + g.upTo(60)
	}
	for range nodes {
		c.nodes = append(c.nodes, g.node())
	}
	c.storage.begin(g, c.names(), &o)
	pods := g.upTo(2 * nodes)
	if g.preempt {
		pods = 3*nodes + g.upTo(5*nodes)
	}
	for range pods {
		c.place()
	}
	if g.has(Priorities) {
		c.budgets(&o)
	}
	o.Nodes, o.Pods = c.nodes, c.pods
	if g.has(Spread) {
		g.owners(&o)
	}
	return o
}

// place draws a pod on a node, and records it. No two pods of a node have the same host port,
// and no two pods have a ReadWriteOncePod claim in common: schedulers prevent that, and
// kube-scheduler's totals do not allow for it.
func (c *cluster) place() *v1.Pod {
	p := c.g.placedPod(pick(c.g, c.names()...))
	used := make(map[v1.ContainerPort]bool)
	for _, other := range c.pods {
		if other.Spec.NodeName == p.Spec.NodeName {
			eachPort(other, func(port *v1.ContainerPort) { used[key(port)] = true })
		}
	}
	eachPort(p, func(port *v1.ContainerPort) {
		if used[key(port)] {
			port.HostPort = 0
		}
	})
	p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v v1.Volume) bool {
		claim := v.PersistentVolumeClaim
		return claim != nil && forOne(claim.ClaimName) && slices.ContainsFunc(c.pods, func(other *v1.Pod) bool { return mounts(other, p.Namespace, claim.ClaimName) })
	})
	c.started(p)
	if c.g.resizes && c.g.chance(0.4) {
		c.g.deferResize(p)
	}
	c.pods = append(c.pods, p)
	return p
}

// mounts reports whether a pod uses a claim.
func mounts(p *v1.Pod, namespace, claim string) bool {
	return p.Namespace == namespace && slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

func eachPort(p *v1.Pod, call func(port *v1.ContainerPort)) {
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for j := range list[i].Ports {
				call(&list[i].Ports[j])
			}
		}
	}
}

// key is the part of a port that two pods cannot share.
func key(p *v1.ContainerPort) v1.ContainerPort {
	protocol, ip := p.Protocol, p.HostIP
	if protocol == "" {
		protocol = v1.ProtocolTCP
	}
	if ip == "" {
		ip = "0.0.0.0"
	}
	return v1.ContainerPort{HostPort: p.HostPort, Protocol: protocol, HostIP: ip}
}

// change draws the changes of the next step.
func (c *cluster) change(step *scenario.Step) {
	g := c.g
	for range 1 + g.upTo(3) {
		switch g.IntN(6) {
		case 0:
			n := g.node()
			c.nodes = append(c.nodes, n)
			step.Set.Nodes = append(step.Set.Nodes, n)
		case 1:
			i := g.IntN(len(c.nodes))
			n := g.changedNode(c.nodes[i])
			// The last version of a step counts.
			step.Set.Nodes = append(slices.DeleteFunc(step.Set.Nodes, func(o *v1.Node) bool { return o.Name == n.Name }), n)
			c.nodes = slices.Concat(c.nodes[:i:i], []*v1.Node{n}, c.nodes[i+1:])
		case 2, 3:
			step.Set.Pods = append(step.Set.Pods, c.place())
		case 4:
			if len(c.pods) > 0 {
				i := g.IntN(len(c.pods))
				p := c.pods[i]
				c.pods = slices.Concat(c.pods[:i:i], c.pods[i+1:])
				step.Set.Pods = slices.DeleteFunc(step.Set.Pods, func(o *v1.Pod) bool { return o == p })
				step.Delete = append(step.Delete, scenario.RefOf(scenario.KindPod, p))
			}
		case 5:
			if g.chance(0.3) && len(c.nodes) > 2 {
				i := g.IntN(len(c.nodes))
				step.Delete = append(step.Delete, scenario.RefOf(scenario.KindNode, c.nodes[i]))
				name := c.nodes[i].Name
				step.Set.Nodes = slices.DeleteFunc(step.Set.Nodes, func(o *v1.Node) bool { return o.Name == name })
				c.nodes = slices.Concat(c.nodes[:i:i], c.nodes[i+1:])
				for _, p := range c.pods {
					if p.Spec.NodeName == name {
						step.Delete = append(step.Delete, scenario.RefOf(scenario.KindPod, p))
						step.Set.Pods = slices.DeleteFunc(step.Set.Pods, func(o *v1.Pod) bool { return o == p })
					}
				}
				c.pods = slices.DeleteFunc(slices.Clone(c.pods), func(p *v1.Pod) bool { return p.Spec.NodeName == name })
			} else {
				step.Set.Namespaces = []*v1.Namespace{g.namespace(g.IntN(numNamespaces))}
			}
		}
	}
	if g.has(Priorities) {
		step.Set.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{c.budget()}
	}
	if g.has(Volumes) {
		c.storage.change(g, c.names(), step)
	}
}

func (g *Generator) namespace(i int) *v1.Namespace {
	n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(i), Labels: map[string]string{"kubernetes.io/metadata.name": namespace(i)}}}
	if g.chance(0.8) {
		n.Labels["team"] = pick(g, "a", "b")
	}
	return n
}

// labels draws the labels of a pod.
func (g *Generator) labels() map[string]string {
	out := map[string]string{}
	if g.chance(0.9) {
		out["app"] = pick(g, "a", "b", "c")
	}
	if g.chance(0.5) {
		out["tier"] = pick(g, "x", "y")
	}
	if g.chance(0.3) {
		out["pod-template-hash"] = pick(g, "1", "2")
	}
	return out
}

// selector draws a selector of pods. It may select everything, or nothing.
func (g *Generator) selector() *metav1.LabelSelector {
	if g.chance(0.06) {
		return nil
	}
	s := &metav1.LabelSelector{}
	if g.chance(0.75) {
		s.MatchLabels = map[string]string{"app": pick(g, "a", "b", "c")}
	}
	if g.chance(0.35) {
		r := metav1.LabelSelectorRequirement{
			Key:      pick(g, "app", "tier", "nobody"),
			Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = append([]string{pick(g, "a", "x")}, some(g, 2, "b", "y", "c")...)
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

// owners draws services and controllers, whose pods kube-scheduler's default constraints
// spread.
func (g *Generator) owners(o *scenario.Objects) {
	for i := range g.upTo(3) {
		s := &v1.Service{ObjectMeta: meta(namespace(g.IntN(2)), fmt.Sprintf("service-%d", i))}
		if g.chance(0.9) {
			s.Spec.Selector = map[string]string{"app": pick(g, "a", "b", "c")}
		}
		if g.chance(0.3) {
			s.Spec.Selector = map[string]string{"app": pick(g, "a", "b"), "tier": pick(g, "x", "y")}
		}
		o.Services = append(o.Services, s)
	}
	for _, app := range []string{"a", "b"} {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		if g.chance(0.3) {
			selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}
		}
		if g.chance(0.7) {
			o.ReplicaSets = append(o.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: meta(namespace(0), "rs-"+app), Spec: appsv1.ReplicaSetSpec{Selector: selector}})
		}
		if g.chance(0.7) {
			o.StatefulSets = append(o.StatefulSets, &appsv1.StatefulSet{ObjectMeta: meta(namespace(0), "sts-"+app), Spec: appsv1.StatefulSetSpec{Selector: selector}})
		}
		if g.chance(0.7) {
			o.ReplicationControllers = append(o.ReplicationControllers, &v1.ReplicationController{
				ObjectMeta: meta(namespace(0), "rc-"+app), Spec: v1.ReplicationControllerSpec{Selector: map[string]string{"app": app}},
			})
		}
	}
}

// owner draws the controller of a pod.
func (g *Generator) owner() []metav1.OwnerReference {
	yes := true
	app := pick(g, "a", "b", "gone")
	ref := pick(g,
		metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs-" + app},
		metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "sts-" + app},
		metav1.OwnerReference{APIVersion: "v1", Kind: "ReplicationController", Name: "rc-" + app},
		metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "job-" + app},
	)
	ref.UID, ref.Controller = "uid-owner", &yes
	return []metav1.OwnerReference{ref}
}
