package conformance

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// uncited are sentences that no case of Run cites, with the reason.
func uncited() map[string]string {
	return map[string]string{
		"ABI-2.8":  "a freedom of hosts: the kit's own tests run a host that uses it",
		"ABI-2.13": "a duty of guests: Check",
		"ABI-4.7":  "a duty of guests: Check",
		"ABI-4.12": "a duty of guests: Check",
		"ABI-4.15": "a duty of guests: Check",
		"ABI-13.5": "a freedom of hosts",
	}
}

// sentences returns the sentences and the sections of SPEC.md.
func sentences(t *testing.T) map[string]bool {
	t.Helper()
	spec, err := os.ReadFile("../SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:## )?(\d+(?:\.\d+)?)\.? `).FindAllStringSubmatch(string(spec), -1) {
		out["ABI-"+m[1]] = true
	}
	if len(out) < 80 {
		t.Fatalf("%d sentences found in SPEC.md", len(out))
	}
	return out
}

// TestCitesExist: cases and duties only cite sentences that SPEC.md has.
func TestCitesExist(t *testing.T) {
	all := sentences(t)
	cases, duties := cited(t)
	for _, cites := range []map[string]string{cases, duties} {
		for sentence, by := range cites {
			if !all[sentence] {
				t.Errorf("%s cites %s, which SPEC.md does not have", by, sentence)
			}
		}
	}
}

// cited returns the sentences that cases of Run and duties of Check cite, each with one that
// cites it.
func cited(t *testing.T) (cases, duties map[string]string) {
	t.Helper()
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	cases, duties = map[string]string{}, map[string]string{}
	note := func(name string, cites []string) {
		if len(cites) == 0 {
			t.Errorf("%s cites nothing", name)
		}
		for _, sentence := range cites {
			cases[sentence] = name
		}
	}
	for _, f := range lib.families {
		for _, c := range f.Cases {
			note(f.Family+"/"+c.Name, c.Cites)
		}
	}
	for _, f := range lib.worlds {
		for _, c := range f.Cases {
			note(f.Family+"/"+c.Name, c.Cites)
		}
	}
	k := &checker{ledger: newLedger(), man: &wire.Manifest{}}
	k.duties()
	for _, d := range k.report(k.man.Declared()).Duties {
		for _, sentence := range d.Cites {
			duties[sentence] = d.Name
		}
	}
	return cases, duties
}

// TestSentencesAreCited: every sentence of SPEC.md is cited by a case of Run, or uncited has a
// reason. A duty of guests is cited by a duty of Check.
func TestSentencesAreCited(t *testing.T) {
	cases, duties := cited(t)
	reasons := uncited()
	for _, sentence := range slices.Sorted(maps.Keys(sentences(t))) {
		reason, excused := reasons[sentence]
		_, byCase := cases[sentence]
		_, byDuty := duties[sentence]
		switch {
		case !strings.Contains(sentence, "."): // a section
		case !byCase && !excused:
			t.Errorf("no case cites %s. Remedy: write one, or add the reason to uncited", sentence)
		case byCase && excused:
			t.Errorf("%s is cited, but uncited has a reason why not: %s", sentence, reason)
		case strings.HasSuffix(reason, ": Check") && !byDuty:
			t.Errorf("no duty of Check cites %s", sentence)
		}
		delete(reasons, sentence)
	}
	for sentence := range reasons {
		t.Errorf("uncited has %s, which is not a sentence", sentence)
	}
}

// Sentences is sentences, for the tests of mistakes.
func Sentences(t *testing.T) map[string]bool { return sentences(t) }

// Cites returns what each case and each duty cites.
func Cites(t *testing.T) map[string][]string {
	t.Helper()
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, f := range lib.families {
		for _, c := range f.Cases {
			expanded, err := c.expand()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range expanded {
				out[f.Family+"/"+e.Name] = c.Cites
			}
		}
	}
	for _, f := range lib.worlds {
		for _, c := range f.Cases {
			out[f.Family+"/"+c.Name] = c.Cites
		}
	}
	k := &checker{ledger: newLedger(), man: &wire.Manifest{}}
	k.duties()
	for _, d := range k.report(k.man.Declared()).Duties {
		out[d.Name] = d.Cites
	}
	return out
}

// TestCaseNames: the names of cases are unique.
func TestCaseNames(t *testing.T) {
	lib, err := readLibrary()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range lib.families {
		for _, c := range f.Cases {
			expanded, err := c.expand()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range expanded {
				if name := f.Family + "/" + e.Name; seen[name] {
					t.Errorf("%s appears twice", name)
				} else {
					seen[name] = true
				}
			}
		}
	}
}
