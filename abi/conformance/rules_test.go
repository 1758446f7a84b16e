package conformance_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
)

// unmistaken are sentences whose rule no mistake of the kit's own tests breaks, with the reason.
func unmistaken() map[string]string {
	return map[string]string{
		"ABI-1.1":  "the tests' interpreter knows only these instructions",
		"ABI-13.5": "a freedom of hosts",
	}
}

// TestRulesHaveMistakes: for each sentence there is a mistake in its rule that a case or a duty
// about the sentence must find.
func TestRulesHaveMistakes(t *testing.T) {
	cites, broken := conformance.Cites(t), map[string]bool{}
	breaks := func(name string) {
		if cites[name] == nil {
			t.Errorf("there is no case and no duty %q", name)
		}
		for _, sentence := range cites[name] {
			broken[sentence] = true
		}
	}
	for _, name := range mistakes() {
		breaks(name)
	}
	for _, one := range more() {
		breaks(one[1])
	}
	for _, one := range guestMistakes() {
		for name := range cites {
			if strings.HasPrefix(name+" (", one.duty) {
				breaks(name)
			}
		}
	}
	reasons := unmistaken()
	for _, sentence := range slices.Sorted(maps.Keys(conformance.Sentences(t))) {
		reason, excused := reasons[sentence]
		switch {
		case !strings.Contains(sentence, "."): // a section
		case !broken[sentence] && !excused:
			t.Errorf("no mistake breaks the rule of %s. Remedy: have the reference or a guest make one, or add the reason to unmistaken", sentence)
		case broken[sentence] && excused:
			t.Errorf("a mistake breaks %s, but unmistaken has a reason why none does: %s", sentence, reason)
		}
		delete(reasons, sentence)
	}
	for sentence := range reasons {
		t.Errorf("unmistaken has %s, which is not a sentence", sentence)
	}
}
