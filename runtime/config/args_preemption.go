package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// Defaults of DefaultPreemptionArgs (apis/config/v1/defaults.go).
const (
	defaultCandidatePercentage = 10
	defaultCandidateAbsolute   = 100
)

func defaultPreemption(a *configv1.DefaultPreemptionArgs) {
	if a.MinCandidateNodesPercentage == nil {
		a.MinCandidateNodesPercentage = new(int32(defaultCandidatePercentage))
	}
	if a.MinCandidateNodesAbsolute == nil {
		a.MinCandidateNodesAbsolute = new(int32(defaultCandidateAbsolute))
	}
}

// checkPreemption checks that the percentage is one, that the number is not negative, and that
// they are not both 0, which would try no node.
func checkPreemption(r *report, path *field.Path, a *configv1.DefaultPreemptionArgs) {
	percentage, absolute := path.Child("minCandidateNodesPercentage"), path.Child("minCandidateNodesAbsolute")
	if p := *a.MinCandidateNodesPercentage; p < 0 || p > 100 {
		r.add(percentage, fmt.Sprintf("%d is not a percentage", p), "give 0 to 100")
	}
	if n := *a.MinCandidateNodesAbsolute; n < 0 {
		r.add(absolute, fmt.Sprintf("%d is negative", n), "give 0 or more")
	}
	if *a.MinCandidateNodesPercentage == 0 && *a.MinCandidateNodesAbsolute == 0 {
		r.add(percentage, "it is 0, and so is minCandidateNodesAbsolute: no node would be tried", "give a positive value to one of them")
	}
}
