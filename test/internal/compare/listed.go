package compare

import (
	"fmt"
	"strings"
)

// Listed is a difference that docs/differences.md lists. The page must have its
// reference, which is upstream's issue, pull request or enhancement.
type Listed struct {
	Name, Reference string
	is              func(d *Difference) bool
}

// AllListed returns the differences that are listed.
func AllListed() []Listed {
	return []Listed{
		{
			Name: "scores of pods with pod-level resources", Reference: "kubernetes/kubernetes/pull/141387",
			is: func(d *Difference) bool {
				fit := d.Plugin == "NodeResourcesFit" && (d.What == "Score" || d.What == "NormalizeScore") || d.What == "score of NodeResourcesFit"
				return fit && d.Pod.Spec.Resources != nil
			},
		},
		{
			// Its cache counts the nodes that have an image when it copies a node into its
			// snapshot, which it does when that node changes.
			Name: "number of nodes that have an image", Reference: "kubernetes/kubernetes/issues/116673",
			is: func(d *Difference) bool { return d.What == "score of ImageLocality" && d.Step > 0 },
		},
		{
			Name: "extended resources by dynamic resources", Reference: "kubernetes/enhancements/issues/5004",
			is: func(d *Difference) bool {
				return d.Plugin == "NodeResourcesFit" && strings.HasPrefix(d.What, "registers resource.k8s.io/DeviceClass/")
			},
		},
		{
			Name: "preemptors that are held back", Reference: "kubernetes/enhancements/issues/4832",
			is: func(d *Difference) bool {
				return d.Plugin == "DefaultPreemption" && d.What == "extension points" && d.Theirs == "PreEnqueue "+d.Ours
			},
		},
	}
}

// CheckListed returns what is wrong with the page of differences: a reference
// that it does not have.
func CheckListed(page string) error {
	for _, l := range AllListed() {
		if !strings.Contains(page, l.Reference) {
			return fmt.Errorf("docs/differences.md does not list %q: it has no link to %s", l.Name, l.Reference)
		}
	}
	return nil
}

// Note counts a difference, and finds the listed one that it is.
func (n *Counts) Note(d *Difference) {
	n.Different++
	for _, l := range AllListed() {
		if l.is(d) {
			d.Listed = &l
			n.Listed++
			return
		}
	}
}
