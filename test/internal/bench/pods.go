package bench

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods returns the pods to place: each requests cpu and memory, and what a plugin works on;
// with an empty name, everything but volumes.
func Pods(plugin string) []*v1.Pod {
	var out []*v1.Pod
	for i := range Incoming {
		p := pod(fmt.Sprintf("incoming-%d", i))
		p.Labels["app"], p.Labels["tier"] = fmt.Sprintf("app-%d", i%apps), fmt.Sprintf("tier-%d", i%4)
		request(p, int64(500+i*40), int64(1024+i*128))
		for name, ask := range asks() {
			if name == plugin || plugin == "" && !concernsVolumes(name) {
				ask(p, i)
			}
		}
		out = append(out, p)
	}
	return out
}

func concernsVolumes(plugin string) bool {
	switch plugin {
	case "VolumeBinding", "VolumeZone", "NodeVolumeLimits", "VolumeRestrictions":
		return true
	}
	return false
}

// asks gives the i-th pod what a plugin works on, by plugin. Plugins that are not listed work
// on every pod.
func asks() map[string]func(p *v1.Pod, i int) {
	volumes := func(p *v1.Pod, i int) {
		mount(p, fmt.Sprintf("bound-%d", i))
	}
	return map[string]func(p *v1.Pod, i int){
		"TaintToleration": tolerate,
		"NodeAffinity":    preferNodes,
		"NodePorts": func(p *v1.Pod, i int) {
			p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(8000 + i%10), ContainerPort: 80}}
		},
		"ImageLocality":     func(p *v1.Pod, i int) { p.Spec.Containers[0].Image = image(i % 40) },
		"PodTopologySpread": spread,
		"InterPodAffinity":  mindPods,
		"NodeDeclaredFeatures": func(p *v1.Pod, i int) {
			no := i%2 == 0
			p.Spec.HostNetwork, p.Spec.HostUsers = true, &no
		},
		"NodeVolumeLimits":   volumes,
		"VolumeZone":         volumes,
		"VolumeRestrictions": func(p *v1.Pod, i int) { disk(p, i) },
		"VolumeBinding": func(p *v1.Pod, i int) {
			volumes(p, i)
			mount(p, fmt.Sprintf("free-%d", i))
		},
	}
}

func tolerate(p *v1.Pod, i int) {
	p.Spec.Tolerations = []v1.Toleration{{Key: "example.com/other", Operator: v1.TolerationOpExists}}
	if i%2 == 0 {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "example.com/pool", Value: "batch", Effect: v1.TaintEffectNoSchedule})
	}
}

func preferNodes(p *v1.Pod, i int) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	in := func(label int, values ...string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: fmt.Sprintf("example.com/label-%02d", label), Operator: v1.NodeSelectorOpIn, Values: values},
		}}
	}
	required := in(i%5, "value-0", "value-1", "value-2", "value-3", "value-4")
	required.MatchExpressions = append(required.MatchExpressions, v1.NodeSelectorRequirement{
		Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"zone-0", "zone-1"},
	})
	p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{required}},
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
			{Weight: 10, Preference: in(5, fmt.Sprintf("value-%d", i%8))}, {Weight: 30, Preference: in(6, fmt.Sprintf("value-%d", (i+3)%8))},
		},
	}
}

func spread(p *v1.Pod, _ int) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
		{MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector},
		{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector},
	}
}

// mindPods gives a pod anti-affinity to others of its application on a node, and affinity to
// others of its tier in the zone.
func mindPods(p *v1.Pod, _ int) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	tier := v1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": p.Labels["tier"]}}, TopologyKey: v1.LabelTopologyZone,
	}
	p.Spec.Affinity.PodAffinity = &v1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{tier},
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 20, PodAffinityTerm: term(p, v1.LabelTopologyZone)}},
	}
	p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(p, v1.LabelHostname)}}
}
