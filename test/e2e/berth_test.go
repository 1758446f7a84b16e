package e2e

import (
	"testing"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// TestBerth has the tests of features that kube-scheduler does not have; with kube-scheduler
// under test it has none.
func TestBerth(t *testing.T) {
	if program() != cluster.BerthProgram {
		return
	}
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"scripts", berthScripts},
		{"refused", refuses},
		{"flags", knowsFlags},
		{"patient", isPatient},
		{"shutdown", shutsDown},
		{"takeover", takesOver},
		{"renamed", renamesLease},
		{"stops", namesWhatStops},
		{"installed", leadsAsInstalled},
		{"static pod", leadsAsStaticPod},
		{"chart", installsChart},
		{"slips", countsSlips},
		{"explain", explainsFromAfar},
		{"alerts", alertsFire},
		{"throttled", writesStatusLater},
		{"serves", servesAlike},
		{"projects", answersProjects},
		{"dumps", readsDumps},
	} {
		t.Run(test.name, test.run)
	}
}
