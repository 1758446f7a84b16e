package mutant_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/decide"
	"github.com/berth-scheduler/berth/test/internal/generate"
	"github.com/berth-scheduler/berth/test/internal/mutant"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/oracle"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// mostCases is the number of cases within which any bug of a plugin is found. The oracle runs
// several times as many.
const mostCases = 400

// TestMistakesAreFound introduces each bug into its plugin and requires a case that differs.
func TestMistakesAreFound(t *testing.T) {
	for _, name := range oracle.Plugins() {
		p, err := native.New(world.New(), name, nil, native.Bindings{})
		if err != nil {
			t.Fatal(err)
		}
		mutants := mutant.All(p)
		if len(mutants) < 2 {
			t.Errorf("%s has %d mistakes, want more", name, len(mutants))
		}
		for _, m := range mutants {
			t.Run(name+"/"+m.Name, func(t *testing.T) {
				n, d := found(t, name, m)
				if n < 0 {
					t.Fatalf("not found in %d cases", mostCases)
				}
				t.Logf("case %d: %s", n, d)
			})
		}
	}
}

// TestPage: docs/oracle.md says how many plugins are compared, and how many mistakes are made.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/oracle.md")
	if err != nil {
		t.Fatal(err)
	}
	mistakes := 0
	for _, name := range oracle.Plugins() {
		p, err := native.New(world.New(), name, nil, native.Bindings{})
		if err != nil {
			t.Fatal(err)
		}
		mistakes += len(mutant.All(p))
	}
	for _, want := range []string{
		fmt.Sprintf("each of the %d host plugins (all but DynamicResources)", len(native.Names())-1), fmt.Sprintf("Each of the %d mistakes", mistakes),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/oracle.md does not say %q", want)
		}
	}
}

func found(t *testing.T, name string, m mutant.Mutant) (n int, first compare.Difference) {
	for n := range mostCases {
		var counts compare.Counts
		differences, err := run(name, n, m, &counts)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			if d.What == "panic" {
				t.Fatalf("case %d: the mutant itself fails: %s %s", n, d.Ours, d.Theirs)
			}
			if d.Listed == nil {
				return n, d
			}
		}
	}
	return -1, first
}

// run runs a case of a plugin; for plugins that take part when pods are unschedulable also
// whole decisions about such pods.
func run(name string, n int, m mutant.Mutant, counts *compare.Counts) ([]compare.Difference, error) {
	var differences []compare.Difference
	var err error
	if name != "DynamicResources" { // package devices compares it
		differences, err = compare.Scenario(generate.New(1, name, n).Scenario(), compare.Options{Mutate: m.Wrap}, counts)
	}
	if !slices.Contains(native.Points(name), abi.PostFilter) || err != nil {
		return differences, err
	}
	more, err := decide.Scenario(generate.New(1, generate.Preemption, n).Scenario(), decide.Options{Mutate: m.Wrap, Mutated: name}, counts)
	return append(differences, more...), err
}
