package generate

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func declaredFeatures() []string {
	return []string{
		"InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits", "Unheard", "UserNamespacesHostNetworkSupport",
		"VolumeBindMountOptions",
	}
}

// pod draws a pod without a node.
func (g *Generator) pod(nodes []string) *v1.Pod {
	g.pods++
	p := &v1.Pod{ObjectMeta: meta(namespace(g.IntN(numNamespaces)), fmt.Sprintf("p%d", g.pods))}
	p.Labels = g.labels()
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, g.pods, 0, time.UTC))
	g.containers(p)
	g.tolerations(p)
	if g.has(Gates) {
		for _, name := range some(g, 2, "example.com/a", "example.com/b") {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: name})
		}
	}
	if g.has(Priorities) {
		n := pick(g, int32(-5), 0, 0, 1, 10, 100)
		p.Spec.Priority = &n
	}
	if g.has(NodeNames) {
		// Only rows tell Berth which nodes plugins want: that two of them want the same one, which is not there, they do not tell.
		p.Spec.NodeName = pick(g, append([]string{"gone"}, nodes...)...)
	}
	if g.has(NodeAffinity) {
		g.nodeAffinity(p, nodes)
	}
	if g.has(Spread) {
		g.spread(p)
	}
	if g.has(PodAffinity) {
		g.podAffinity(p)
	}
	if g.has(Spread) && g.chance(0.5) {
		p.OwnerReferences = g.owner()
	}
	if g.has(Features) {
		g.needFeatures(p)
	}
	g.volumes(p)
	return p
}

// placedPod draws a pod on a node.
func (g *Generator) placedPod(node string) *v1.Pod {
	p := g.pod([]string{node})
	p.Spec.NodeName, p.Spec.SchedulingGates = node, nil
	p.Status.Phase = v1.PodRunning
	if !g.resizes && g.chance(0.06) {
		g.ending(p)
	}
	if !g.resizes && g.has(Shapes) && g.chance(0.3) {
		g.resized(p)
	}
	return p
}

func (g *Generator) containers(p *v1.Pod) {
	n := 1 + g.upTo(2)*g.upTo(1)
	for i := range n {
		p.Spec.Containers = append(p.Spec.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	if !g.has(Shapes) {
		return
	}
	always := v1.ContainerRestartPolicyAlways
	for i := range g.upTo(2) {
		c := g.container(fmt.Sprintf("init%d", i))
		if g.chance(0.5) {
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if g.chance(0.25) {
		p.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: *milli(int64(g.upTo(3)) * 100), v1.ResourceMemory: *bytes(int64(g.upTo(2)) << 26)}
	}
	if g.chance(0.3) { // KEP-2837
		list := v1.ResourceList{}
		if g.chance(0.7) {
			list[v1.ResourceCPU] = *milli(int64(g.upTo(12)) * 250)
		}
		if g.chance(0.5) {
			list[v1.ResourceMemory] = *bytes(int64(g.upTo(12)) << 28)
		}
		p.Spec.Resources = &v1.ResourceRequirements{Requests: list}
	}
}

func (g *Generator) container(name string) v1.Container {
	c := v1.Container{Name: name, Image: "registry.example.com/plain:1"}
	if g.has(Images) {
		c.Image = imageName(g.IntN(6)) + pick(g, "", ":latest", ":v1", "@sha256:abc", ":other")
	}
	if g.has(Resources) {
		c.Resources.Requests = g.requests()
	} else if g.chance(0.5) {
		c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: *milli(100), v1.ResourceMemory: *bytes(64 << 20)}
	}
	if g.has(Ports) {
		for range 1 + g.upTo(1) {
			c.Ports = append(c.Ports, v1.ContainerPort{
				ContainerPort: 80, HostPort: int32(pick(g, 0, 8080, 8080, 8081)),
				HostIP: pick(g, "", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::1"), Protocol: pick(g, "", v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP),
			})
		}
	}
	return c
}

func (g *Generator) requests() v1.ResourceList {
	list := v1.ResourceList{}
	if g.chance(0.8) {
		list[v1.ResourceCPU] = *milli(int64(g.upTo(8)) * 125)
	}
	if g.chance(0.8) {
		list[v1.ResourceMemory] = *bytes(int64(g.upTo(8)) * 128 << 20)
	}
	if g.chance(0.25) {
		list[v1.ResourceEphemeralStorage] = *bytes(int64(g.upTo(4)) << 30)
	}
	for _, name := range scalars() {
		if g.chance(0.12) {
			list[name] = *count(int64(g.upTo(3)))
		}
	}
	if g.chance(0.03) {
		list["unqualified"] = *count(1)
	}
	return list
}

// resized gives a running pod the status of an in-place resize (KEP-1287).
func (g *Generator) resized(p *v1.Pod) {
	statuses := func(of []v1.Container) (out []v1.ContainerStatus) {
		for i := range of {
			status := v1.ContainerStatus{Name: of[i].Name}
			if g.chance(0.7) {
				status.AllocatedResources = g.requests()
			}
			if g.chance(0.7) {
				status.Resources = &v1.ResourceRequirements{Requests: g.requests()}
			}
			out = append(out, status)
		}
		return out
	}
	p.Status.ContainerStatuses = statuses(p.Spec.Containers)
	if g.chance(0.5) {
		p.Status.InitContainerStatuses = statuses(p.Spec.InitContainers)
	}
	if g.chance(0.3) {
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{
			Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: pick(g, v1.PodReasonInfeasible, v1.PodReasonDeferred),
		})
	}
	if p.Spec.Resources != nil && g.chance(0.5) {
		p.Status.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: *milli(int64(g.upTo(12)) * 250)}}
		p.Status.AllocatedResources = v1.ResourceList{v1.ResourceCPU: *milli(int64(g.upTo(12)) * 250)}
	}
}

func (g *Generator) tolerations(p *v1.Pod) {
	if g.has(Cordons) && g.chance(0.5) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, pick(g,
			v1.Toleration{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule},
			v1.Toleration{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists},
			v1.Toleration{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoExecute},
			v1.Toleration{Key: v1.TaintNodeUnschedulable, Value: "x"},
			v1.Toleration{Key: v1.TaintNodeUnschedulable},
			v1.Toleration{Operator: v1.TolerationOpExists},
		))
	}
	if !g.has(Taints) {
		return
	}
	for range g.upTo(3) {
		t := v1.Toleration{
			Key: pick(g, "k", "l", v1.TaintNodeNotReady), Operator: pick(g, "", v1.TolerationOpEqual, v1.TolerationOpExists),
			Effect: pick(g, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
		}
		switch {
		case t.Operator != v1.TolerationOpExists:
			t.Value = pick(g, "", "a", "b", "5")
		case g.chance(0.1):
			t.Key = ""
		}
		if g.chance(0.04) { // behind a feature gate (KEP-5471)
			t.Operator, t.Value = pick(g, v1.TolerationOpLt, v1.TolerationOpGt), pick(g, "4", "6", "06")
		}
		if t.Effect == v1.TaintEffectNoExecute && g.chance(0.3) {
			seconds := int64(30)
			t.TolerationSeconds = &seconds
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
}

func (g *Generator) needFeatures(p *v1.Pod) {
	if g.chance(0.5) {
		no := g.chance(0.3)
		p.Spec.HostNetwork, p.Spec.HostUsers = g.chance(0.8), &no
	}
	if g.chance(0.4) {
		rule := v1.ContainerRestartRule{
			Action:    pick(g, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers),
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1}},
		}
		if len(p.Spec.InitContainers) > 0 && g.chance(0.5) {
			p.Spec.InitContainers[0].RestartPolicyRules = []v1.ContainerRestartRule{rule}
		} else {
			p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{rule}
		}
	}
	if g.chance(0.3) {
		mount := v1.VolumeMount{Name: "v", MountPath: "/v", BindMountOptions: some(g, 2, "nodev", "noexec")}
		if len(p.Spec.InitContainers) > 0 && g.chance(0.5) {
			p.Spec.InitContainers[0].VolumeMounts = []v1.VolumeMount{mount}
		} else {
			p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{mount}
		}
	}
}

// changedPod draws another version of a pod.
func (g *Generator) changedPod(old *v1.Pod) *v1.Pod {
	p := old.DeepCopy()
	switch g.IntN(7) {
	case 0:
		p.Labels = g.labels()
	case 1:
		if len(p.Spec.Containers) > 0 {
			p.Spec.Containers[0].Resources.Requests = g.requests()
		}
	case 2:
		p.Spec.Tolerations = append(slices.Clone(p.Spec.Tolerations), v1.Toleration{
			Key: pick(g, "k", v1.TaintNodeUnschedulable), Operator: v1.TolerationOpExists, Effect: pick(g, "", v1.TaintEffectNoSchedule),
		})
	case 3:
		p.Spec.SchedulingGates = nil
	case 4:
		p.Annotations = map[string]string{"example.com/note": pick(g, "a", "b")}
	case 5:
		at := metav1.NewTime(time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC))
		p.DeletionTimestamp = &at
	case 6:
		p.Spec.Containers = slices.Clone(p.Spec.Containers)
		p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}}
	}
	return p
}
