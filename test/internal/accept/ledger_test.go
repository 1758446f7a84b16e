package accept_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/accept"
)

func TestLedger(t *testing.T) {
	for _, test := range []struct {
		name     string
		config   accept.LedgerConfig
		writes   string // as in history
		bindings int
		problem  string
	}{
		{"full", accept.LedgerConfig{}, "+n0 p1 p2 p1>n0 p2>n0", 2, ""},
		{"too full", accept.LedgerConfig{}, "+n0 p1 p2 p3 p1>n0 p2>n0 p3>n0", 3, "node n0 is given 6 of cpu by pod p3 at revision 7, but has 4"},
		{"too full by design", accept.LedgerConfig{Overfull: true}, "+n0 p1 p2 p3 p1>n0 p2>n0 p3>n0", 3, ""},
		{"room again", accept.LedgerConfig{}, "+n0 p1 p2 p3 p1>n0 p2>n0 -p1 p3>n0", 3, ""},
		{"bound twice", accept.LedgerConfig{}, "+n0 +n1 p1 p1>n0 p1>n1", 1, `pod p1 was bound to n0, and at revision 5 to "n1"`},
		{"no such node", accept.LedgerConfig{}, "p1 p1>n0", 1, "to node n0, which does not exist"},
		{"node that is gone", accept.LedgerConfig{}, "+n0 p1 -n0 p1>n0", 1, "to node n0, which does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ledger := accept.NewLedger(test.config)
			play(t, test.writes, halfANode, ledger.Write)
			problems := strings.Join(ledger.Problems(), "\n")
			if ledger.Bindings() != test.bindings || (problems == "") != (test.problem == "") || !strings.Contains(problems, test.problem) {
				t.Errorf("%d bindings and %q, want %d and %q", ledger.Bindings(), problems, test.bindings, test.problem)
			}
		})
	}
}
