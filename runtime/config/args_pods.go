package config

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// maxHardPodAffinityWeight is the maximum of hardPodAffinityWeight in InterPodAffinityArgs.
const maxHardPodAffinityWeight = 100

func defaultSpread(a *configv1.PodTopologySpreadArgs) {
	if a.DefaultingType == "" {
		a.DefaultingType = configv1.SystemDefaulting
	}
}

// checkSpread checks default constraints as the API server checks those of pods. They must not
// have a selector, because the plugin derives it for each pod.
func checkSpread(r *report, path *field.Path, a *configv1.PodTopologySpreadArgs) {
	at := path.Child("defaultingType")
	switch a.DefaultingType {
	case configv1.ListDefaulting:
	case configv1.SystemDefaulting:
		if len(a.DefaultConstraints) > 0 {
			r.add(at, "type System allows no default constraints", "set defaultingType: List, or remove defaultConstraints")
		}
	default:
		r.add(at, fmt.Sprintf("unknown defaulting type %q", a.DefaultingType),
			"give "+list([]string{string(configv1.SystemDefaulting), string(configv1.ListDefaulting)}))
	}
	for i := range a.DefaultConstraints {
		checkConstraint(r, path.Child("defaultConstraints"), a.DefaultConstraints, i)
	}
}

func checkConstraint(r *report, path *field.Path, all []corev1.TopologySpreadConstraint, i int) {
	c, at := &all[i], path.Index(i)
	if c.MaxSkew < 1 {
		r.add(at.Child("maxSkew"), fmt.Sprintf("maxSkew is %d", c.MaxSkew), "give 1 or more")
	}
	if c.TopologyKey == "" {
		r.add(at.Child("topologyKey"), "the constraint has no topology key", "give a node label, such as "+corev1.LabelTopologyZone)
	} else {
		r.addAll(metav1validation.ValidateLabelName(c.TopologyKey, at.Child("topologyKey")).ToAggregate())
	}
	actions := []string{string(corev1.DoNotSchedule), string(corev1.ScheduleAnyway)}
	switch c.WhenUnsatisfiable {
	case corev1.DoNotSchedule, corev1.ScheduleAnyway:
	case "":
		r.add(at.Child("whenUnsatisfiable"), "the constraint does not say what to do when it cannot be satisfied", "give "+list(actions))
	default:
		r.add(at.Child("whenUnsatisfiable"), fmt.Sprintf("unknown action %q", c.WhenUnsatisfiable), "give "+list(actions))
	}
	if c.LabelSelector != nil {
		r.add(at.Child("labelSelector"), "a default constraint cannot have a selector: the plugin derives it for each pod", "remove it")
	}
	for j := range all[:i] {
		if c.TopologyKey == all[j].TopologyKey && c.WhenUnsatisfiable == all[j].WhenUnsatisfiable {
			r.add(at, fmt.Sprintf("%q with %q is in defaultConstraints[%d] already", c.TopologyKey, c.WhenUnsatisfiable, j), "keep one of the entries")
			return
		}
	}
}

func defaultPodAffinity(a *configv1.InterPodAffinityArgs) {
	if a.HardPodAffinityWeight == nil {
		weight := int32(1)
		a.HardPodAffinityWeight = &weight
	}
}

func checkPodAffinity(r *report, path *field.Path, a *configv1.InterPodAffinityArgs) {
	if w := *a.HardPodAffinityWeight; w < 0 || w > maxHardPodAffinityWeight {
		r.add(path.Child("hardPodAffinityWeight"), fmt.Sprintf("the weight is %d", w), fmt.Sprintf("give 0 to %d", maxHardPodAffinityWeight))
	}
}
