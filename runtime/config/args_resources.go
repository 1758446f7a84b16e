package config

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

const (
	maxResourceWeight = 100
	maxUtilization    = 100 // percent
	maxShapeScore     = 10  // config.MaxCustomPriorityScore
)

// defaultResources returns the resources that are scored if the file names none.
func defaultResources() []configv1.ResourceSpec {
	return []configv1.ResourceSpec{
		{Name: string(corev1.ResourceCPU), Weight: 1},
		{Name: string(corev1.ResourceMemory), Weight: 1},
	}
}

// resourcesOr returns the default for an empty list, and sets missing weights to 1.
func resourcesOr(in []configv1.ResourceSpec) []configv1.ResourceSpec {
	if len(in) == 0 {
		return defaultResources()
	}
	for i := range in {
		if in[i].Weight == 0 {
			in[i].Weight = 1
		}
	}
	return in
}

func defaultFit(a *configv1.NodeResourcesFitArgs) {
	if a.ScoringStrategy == nil {
		a.ScoringStrategy = &configv1.ScoringStrategy{Type: configv1.LeastAllocated}
	}
	a.ScoringStrategy.Resources = resourcesOr(a.ScoringStrategy.Resources)
}

func checkFit(r *report, path *field.Path, a *configv1.NodeResourcesFitArgs) {
	for i, name := range a.IgnoredResources {
		r.addAll(metav1validation.ValidateLabelName(name, path.Child("ignoredResources").Index(i)).ToAggregate())
	}
	for i, group := range a.IgnoredResourceGroups {
		at := path.Child("ignoredResourceGroups").Index(i)
		if strings.Contains(group, "/") {
			r.add(at, fmt.Sprintf("%q is not a resource group", group), "give the part before the /, as example.com")
			continue
		}
		r.addAll(metav1validation.ValidateLabelName(group, at).ToAggregate())
	}
	checkStrategy(r, path.Child("scoringStrategy"), a.ScoringStrategy)
}

func checkStrategy(r *report, path *field.Path, s *configv1.ScoringStrategy) {
	switch s.Type {
	case configv1.LeastAllocated, configv1.MostAllocated, configv1.RequestedToCapacityRatio:
	case "":
		r.add(path.Child("type"), "the scoring strategy has no type", strategyFix())
	default:
		r.add(path.Child("type"), fmt.Sprintf("unknown scoring strategy %q", s.Type), strategyFix())
	}
	for i, res := range s.Resources {
		if res.Weight < 1 || res.Weight > maxResourceWeight {
			r.add(path.Child("resources").Index(i).Child("weight"),
				fmt.Sprintf("the weight of %q is %d", res.Name, res.Weight), fmt.Sprintf("give 1 to %d", maxResourceWeight))
		}
	}
	ratio := path.Child("requestedToCapacityRatio")
	switch {
	case s.Type == configv1.RequestedToCapacityRatio && s.RequestedToCapacityRatio == nil:
		r.add(ratio, "the strategy RequestedToCapacityRatio needs a shape", "add requestedToCapacityRatio.shape")
	case s.Type == configv1.RequestedToCapacityRatio:
		checkShape(r, ratio.Child("shape"), s.RequestedToCapacityRatio.Shape)
	case s.RequestedToCapacityRatio != nil:
		r.add(ratio, fmt.Sprintf("the shape has no effect with strategy %q", s.Type), "remove it, or set type: RequestedToCapacityRatio")
	}
}

func strategyFix() string {
	return "give " + list([]string{string(configv1.LeastAllocated), string(configv1.MostAllocated), string(configv1.RequestedToCapacityRatio)})
}

// checkShape requires strictly increasing utilizations of 0–100 (percent) and scores of
// 0–10.
func checkShape(r *report, path *field.Path, shape []configv1.UtilizationShapePoint) {
	if len(shape) == 0 {
		r.add(path, "the shape has no points", "give at least one, as {utilization: 0, score: 0}")
	}
	for i, p := range shape {
		at := path.Index(i)
		if i > 0 && shape[i-1].Utilization >= p.Utilization {
			r.add(at.Child("utilization"), fmt.Sprintf("%d is not above the %d before it", p.Utilization, shape[i-1].Utilization),
				"sort the points by utilization, each once")
		}
		if p.Utilization < 0 || p.Utilization > maxUtilization {
			r.add(at.Child("utilization"), fmt.Sprintf("%d is not a percentage", p.Utilization), fmt.Sprintf("give 0 to %d", maxUtilization))
		}
		if p.Score < 0 || p.Score > maxShapeScore {
			r.add(at.Child("score"), fmt.Sprintf("the score is %d", p.Score), fmt.Sprintf("give 0 to %d", maxShapeScore))
		}
	}
}

func defaultBalanced(a *configv1.NodeResourcesBalancedAllocationArgs) {
	a.Resources = resourcesOr(a.Resources)
}

// checkBalanced requires each resource at most once, and weight 1, because the plugin compares
// fractions and has no weights.
func checkBalanced(r *report, path *field.Path, a *configv1.NodeResourcesBalancedAllocationArgs) {
	seen := map[string]bool{}
	for i, res := range a.Resources {
		at := path.Child("resources").Index(i)
		if seen[res.Name] {
			r.add(at.Child("name"), fmt.Sprintf("resource %q is listed twice", res.Name), "keep one of the entries")
		}
		seen[res.Name] = true
		if res.Weight != 1 {
			r.add(at.Child("weight"), fmt.Sprintf("the weight of %q is %d", res.Name, res.Weight), "leave it out: this plugin has no weights")
		}
	}
}
