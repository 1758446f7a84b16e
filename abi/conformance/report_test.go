package conformance_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
)

// TestFailed: of a report, the duties that failed are shown alone.
func TestFailed(t *testing.T) {
	duty := func(name string, verdict conformance.Verdict) conformance.Duty {
		return conformance.Duty{Name: name, Cites: []string{"ABI-2.8"}, Verdict: verdict, Times: 3, Failures: 2, Example: "\nhere"}
	}
	report := &conformance.Report{
		Duties:  []conformance.Duty{duty("one", conformance.Passed), duty("two", conformance.Failed), duty("three", conformance.NotApplicable), duty("four", conformance.Failed)},
		Answers: map[string]map[string]int{"filter": {"Success": 3}},
	}
	const example = " (ABI-2.8): 3 times\n      failed 2 times, first in \n      here\n"
	const want = "FAIL  two" + example + "FAIL  four" + example + "2 of 4 duties failed\n"
	if got := report.Failed(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if whole := report.String(); !strings.Contains(whole, "pass  one") || !strings.HasSuffix(whole, "2 of 4 duties failed\n") {
		t.Error(whole)
	}
}

// TestUncalled: a point that the manifest declares and no call reached is not told as one that the plugin lacks.
func TestUncalled(t *testing.T) {
	duty := func(point string) conformance.Duty {
		return conformance.Duty{Name: "answers of " + point + " are well formed", Verdict: conformance.NotApplicable}
	}
	report := &conformance.Report{Duties: []conformance.Duty{duty("score"), duty("bind")}, Uncalled: []string{"score"}}
	const want = "n/a   points that the plugin does not have: bind\n" +
		"n/a   points that were never called: score; other points rejected all pods before, or left nothing to do: give hints\n"
	if got := report.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want it to begin with %s", got, want)
	}
}
