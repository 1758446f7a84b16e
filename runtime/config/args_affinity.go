package config

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// maxTermWeight is the highest weight of a preferred term in the core API.
const maxTermWeight = 100

// checkAffinity parses addedAffinity as the plugin will. It also requires weights of 1–100,
// as the API server does for pods; kube-scheduler ignores a term with weight 0.
func checkAffinity(r *report, path *field.Path, a *configv1.NodeAffinityArgs) {
	if a.AddedAffinity == nil {
		return
	}
	path = path.Child("addedAffinity")
	if required := a.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		_, err := nodeaffinity.NewNodeSelector(required, field.WithPath(path.Child("requiredDuringSchedulingIgnoredDuringExecution")))
		r.addAll(err)
	}
	preferred := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
	terms := a.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	for i, term := range terms {
		at := preferred.Index(i)
		if term.Weight < 1 || term.Weight > maxTermWeight {
			r.add(at.Child("weight"), fmt.Sprintf("the weight of the term is %d", term.Weight), fmt.Sprintf("give 1 to %d", maxTermWeight))
			term.Weight = 1 // to parse the rest of the term too
		}
		// Each term is parsed alone, because the parser's paths lack the field preference.
		_, err := nodeaffinity.NewPreferredSchedulingTerms([]corev1.PreferredSchedulingTerm{term}, field.WithPath(field.NewPath("term")))
		for _, e := range fieldErrors(err) {
			e.Field = text(at.Child("preference")) + strings.TrimPrefix(e.Field, "term[0]")
			r.addAll(e)
		}
	}
}
