package suite

import (
	"fmt"
	"slices"
	"text/tabwriter"
)

// table prints a row for each package, and the flaky cases.
func (s *suite) table() {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\npackage\tcases\t%s passes\twith alpha gates\t%s passes\tflaky\tseconds\n", s.Scheduler, s.Scheduler)
	var sum counts
	for _, r := range s.reports {
		n := r.counts()
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.0f\n", r.pkg, n.cases, n.passed, n.alpha, n.alphaPassed, len(r.flaky), r.took.Seconds())
		sum = counts{sum.cases + n.cases, sum.passed + n.passed, sum.alpha + n.alpha, sum.alphaPassed + n.alphaPassed}
	}
	fmt.Fprintf(w, "all\t%d\t%d\t%d\t%d\n", sum.cases, sum.passed, sum.alpha, sum.alphaPassed)
	w.Flush() //nolint:errcheck // a terminal
	for _, r := range s.reports {
		if r.left.cases > 0 {
			fmt.Fprintf(s.Out, "with --allow-unenforced=%s: %d of %d cases of %s pass that fail without\n", left, r.left.passed, r.left.cases, r.pkg)
		}
		for _, name := range r.flaky {
			fmt.Fprintf(s.Out, "flaky: %s %s\n", r.pkg, name)
		}
	}
	for _, k := range s.skips {
		if len(s.Only) > 0 && !slices.Contains(s.Only, k.pkg) {
			continue
		}
		fmt.Fprintf(s.Out, "left out: %s %s: %s\n", k.pkg, k.text, k.reason)
	}
}
