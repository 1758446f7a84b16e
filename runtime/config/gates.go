package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/nearest"
)

// TolerationOperators is the feature gate of the operators Lt and Gt of tolerations (KEP-5471).
const TolerationOperators = "TaintTolerationComparisonOperators"

// FractionalCapacity is the feature gate of fractions in the valid ranges of capacities that claims share (KEP-5075).
const FractionalCapacity = "DRAFractionalCapacityRange"

// ResizePreemption is the feature gate of preemption for a deferred resize in place (KEP-5836).
const ResizePreemption = "InPlacePodVerticalScalingSchedulerPreemption"

// Gates are the feature gates that are not at their defaults, among those that Berth can switch.
type Gates struct {
	on map[string]bool
}

// On reports whether a gate that Berth can switch, and that is off by default, was switched on.
func (g Gates) On(name string) bool { return g.on[name] }

// String returns the gates as ParseGates reads them, sorted; empty for the defaults.
func (g Gates) String() string {
	var out []string
	for name := range g.on {
		out = append(out, name+"=true")
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// gate is a feature gate of kube-scheduler.
type gate struct {
	name  string
	stage stage
	state gateState
	use   gateUse
}

type stage string

const (
	alpha      stage = "ALPHA"
	beta       stage = "BETA"
	stable     stage = ""
	deprecated stage = "DEPRECATED"
)

// all is the gate that sets all gates of a stage.
func (s stage) all() string {
	switch s {
	case alpha:
		return allAlpha
	case beta:
		return allBeta
	default:
		return ""
	}
}

// gateState is a gate's default, and whether kube-scheduler lets nobody change it.
type gateState uint8

const (
	off gateState = 0
	on  gateState = 1 << (iota - 1)
	locked
)

func (g *gate) byDefault() bool { return g.state&on != 0 }

// gateUse is what Berth makes of a gate.
type gateUse uint8

const (
	elsewhere gateUse = iota // the code of kube-scheduler does not ask about it: it is for other components
	absent                   // Berth has no code for it
	always                   // Berth does it, and cannot be without it
	switched                 // as it is set
)

// KnownGate is a feature gate that ParseGates knows, for the test that holds the table against kube-scheduler.
type KnownGate struct {
	Name, Stage string
	On, Locked  bool
	// Elsewhere is true if the gate does not matter to a scheduler.
	Elsewhere bool
}

// KnownGates returns the gates that ParseGates knows, besides AllAlpha and AllBeta, sorted by name.
func KnownGates() []KnownGate {
	var out []KnownGate
	for _, g := range gates() {
		out = append(out, KnownGate{Name: g.name, Stage: string(g.stage), On: g.byDefault(), Locked: g.state&locked != 0,
			Elsewhere: g.use == elsewhere})
	}
	return out
}

// Names of the gates that set all of a stage which are not set themselves.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

// ParseGates reads feature gates as kube-scheduler's --feature-gates has them: NAME=BOOL, which a component's name and a
// colon may precede; the last one of a name counts. Warnings are about gates that are set to no effect.
//
// # Errors
//
// The error joins one for each gate that is unknown, locked, or on by default and necessary.
func ParseGates(given []string) (Gates, []Warning, error) {
	known := gates()
	set, errs := make(map[string]bool), []error(nil)
	for _, text := range given {
		name, value, err := parseGate(text, known)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set[name] = value
	}
	out := Gates{on: make(map[string]bool)}
	var warnings []Warning
	for i := range known {
		g := &known[i]
		value, own := set[g.name]
		if !own {
			if value, own = set[g.stage.all()]; !own || g.state&locked != 0 || g.use == elsewhere {
				continue
			}
		}
		warning, err := g.check(value)
		switch {
		case err != nil:
			errs = append(errs, err)
		case warning != "":
			warnings = append(warnings, Warning{Detail: "feature gate " + g.name + ": " + warning})
		case g.use == switched && value != g.byDefault():
			out.on[g.name] = true
		}
	}
	return out, warnings, errors.Join(errs...)
}

func parseGate(text string, known []gate) (string, bool, error) {
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(strings.TrimPrefix(name, "kube:"))
	at, found := slices.BinarySearchFunc(known, name, func(g gate, name string) int { return cmp.Compare(g.name, name) })
	switch b, err := strconv.ParseBool(strings.TrimSpace(value)); {
	case !found && name != allAlpha && name != allBeta:
		names := []string{allAlpha, allBeta}
		for i := range known {
			names = append(names, known[i].name)
		}
		unknown := fmt.Errorf("%q is not a feature gate of kube-scheduler v1.37", name)
		if best, ok := nearest.Of(name, names); ok {
			unknown = fmt.Errorf("%w: did you mean %q?", unknown, best)
		}
		return "", false, unknown
	case !ok:
		return "", false, fmt.Errorf("feature gate %s has no value: write %s=true or %s=false", name, name, name)
	case err != nil:
		return "", false, fmt.Errorf("feature gate %s: %q is neither true nor false", name, value)
	case found && known[at].state&locked != 0 && b != known[at].byDefault():
		return "", false, fmt.Errorf("feature gate %s cannot be set to %v: kube-scheduler v1.37 has it fixed as well; remove it", name, b)
	default:
		return name, b, nil
	}
}

// check says what it means that a gate is set. The warning is empty if Berth does what the value says.
func (g *gate) check(value bool) (warning string, err error) {
	switch {
	case g.use == switched:
		return "", nil
	case g.use == always:
		if value || !g.byDefault() {
			return "", nil
		}
		return "", fmt.Errorf("feature gate %s cannot be set to false: Berth always does what it is for; remove it, or stay with kube-scheduler",
			g.name)
	case value == g.byDefault():
		return "", nil
	case g.use == elsewhere:
		return "it is for other components and has no effect here", nil
	case value:
		return "Berth has no code for it, so it stays off (docs/differences.md)", nil
	default:
		return "", nil // Berth is without it
	}
}
