package dumps

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func (d *Drawer) container(name string) v1.Container {
	c := v1.Container{Name: name, Image: "i", TerminationMessagePolicy: v1.TerminationMessageReadFile}
	c.Resources.Requests = d.amounts(v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage)
	if d.chance(20) {
		gpu := d.quantity()
		c.Resources.Limits = v1.ResourceList{"example.com/gpu": gpu}
	}
	if d.chance(20) {
		c.Resources.Limits = d.amounts(v1.ResourceCPU, v1.ResourceMemory)
	}
	if d.chance(15) {
		c.Ports = []v1.ContainerPort{{ContainerPort: int32(one(d, 80, 8080, 65535)), HostPort: int32(one(d, 0, 0, 80, 65536)), Protocol: v1.Protocol(d.word([]string{"", "TCP", "UDP", "SCTP"}, "QUIC"))}}
	}
	return c
}

func (d *Drawer) pod(name string) *v1.Pod {
	p := &v1.Pod{}
	p.TypeMeta, p.ObjectMeta = meta("Pod", "v1", "default", name)
	p.Labels = map[string]string{"app": one(d, "a", "b")}
	s := &p.Spec
	for i := range 1 + d.r.IntN(2) {
		s.Containers = append(s.Containers, d.container(fmt.Sprintf("c-%d", i)))
	}
	if d.chance(15) {
		s.InitContainers = []v1.Container{d.container("init")}
		s.InitContainers[0].RestartPolicy = one(d, nil, ptr.To(v1.ContainerRestartPolicyAlways))
	}
	if d.chance(15) {
		s.Overhead = d.amounts(v1.ResourceCPU, v1.ResourceMemory)
	}
	if d.chance(20) {
		s.NodeSelector = map[string]string{d.key(): d.value()}
	}
	for d.chance(25) {
		s.Tolerations = append(s.Tolerations, v1.Toleration{Key: d.key(), Operator: v1.TolerationOperator(d.word([]string{"", "Equal", "Exists"}, "Near")),
			Value: one(d, "", d.value()), Effect: v1.TaintEffect(d.word([]string{"", "NoSchedule", "NoExecute"}, "Never"))})
	}
	d.affinity(p)
	if d.chance(20) {
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: int32(one(d, 1, 1, 5, 1<<31-1, 0)), TopologyKey: d.word([]string{"zone", v1.LabelHostname}, "", "any key"),
			WhenUnsatisfiable: one(d, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: d.labelSelector(), MatchLabelKeys: one(d, nil, nil, []string{"app2"})}}
		if d.chance(20) {
			s.TopologySpreadConstraints[0].MinDomains = ptr.To(int32(one(d, 1, 2, 1<<31-1)))
		}
	}
	if d.chance(10) {
		s.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: one(d, "data-0", "data-1", "none")}}}}
	}
	if d.chance(10) {
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "r", ResourceClaimName: ptr.To(one(d, "r-0", "r-1"))}}
	}
	s.PriorityClassName = one(d, "", "", "", "of-the-cluster", "system-node-critical")
	s.HostNetwork = d.chance(5)
	return p
}

func (d *Drawer) affinity(p *v1.Pod) {
	a := &v1.Affinity{}
	if d.chance(25) {
		a.NodeAffinity = &v1.NodeAffinity{}
		if d.chance(60) {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = d.selector()
		}
		for d.chance(40) {
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				v1.PreferredSchedulingTerm{Weight: int32(one(d, 1, 50, 100, 100, 0)), Preference: d.term()})
		}
	}
	if d.chance(15) {
		a.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: d.podTerm()}}}
	}
	if d.chance(15) {
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{d.podTerm()}}
	}
	if *a != (v1.Affinity{}) {
		p.Spec.Affinity = a
	}
}

// Admit does what admission and the passing of time do with a stored pod: its priority, and perhaps a node.
func (d *Drawer) Admit(p *v1.Pod, nodes []string) {
	p.Spec.Priority, p.Spec.PreemptionPolicy = ptr.To(int32(0)), ptr.To(v1.PreemptLowerPriority)
	switch p.Spec.PriorityClassName {
	case "of-the-cluster":
		p.Spec.Priority = ptr.To(int32(1000))
	case "system-node-critical":
		p.Spec.Priority = ptr.To(int32(2000001000))
	}
	p.UID = types.UID("uid-" + p.Name)
	if len(nodes) > 0 && d.chance(30) {
		p.Spec.NodeName = one(d, nodes...)
		p.Status.Phase = v1.PodPhase(d.word([]string{"Running", "Pending"}, "Unknown", ""))
	}
}
