package rollout

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// The reasons of a step back that are no bound.
const (
	// Stopped: the calls of the version are stopped after faults.
	Stopped = "Stopped"
	// Refused: the version cannot run any more.
	Refused = "Refused"
)

// Bounds that a rollout does not name. All but faults and pending need a stable version to compare with.
const (
	// defaultFaults and defaultPending are beyond what the stable version does.
	defaultFaults, defaultPending = "0.1%", "10%"
	// defaultFuel is how many times the fuel of the stable version is allowed, for a row or for a call: fewer rows in a call
	// make each row dearer, and more of them make the call dearer.
	defaultFuel = 4
	// cheap is the fuel of a row up to which there is no default bound.
	cheap = 100
	// defaultChanged is the part of decisions that may be different.
	defaultChanged = "50%"
)

// enough is how many attempts, calls or decisions a mean is made of, at least.
const enough = 30

// few is how many calls of the stable version are enough to compare its fuel with: a step may give it a small part of the pods, and must
// not end without the comparison.
const few = 10

// judge looks for the bound that a version has gone beyond. A bound of a part of the attempts is broken as soon as it must be at
// the end of the step.
type judge struct {
	*Counts
	bounds v1alpha1.RolloutBounds
	least  int64
	// beside is true if there is a stable version.
	beside bool
}

// broken returns the bound that the version has gone beyond, with what was expected and observed.
func (n *next) broken(least int64) (reason, message string) {
	j := judge{Counts: &n.seen.Counts, least: least, beside: n.status.Stable != nil}
	if n.plan.Rollout.Bounds != nil {
		j.bounds = *n.plan.Rollout.Bounds
	}
	switch {
	case n.seen.Stopped != "":
		return Stopped, fmt.Sprintf("its calls were stopped after %d attempts: %s", j.Attempts, n.seen.Stopped)
	case n.seen.Refused != "" && n.seen.Digest == "" && j.beside: // otherwise there is nothing to step back to
		return Refused, n.seen.Refused
	}
	for _, look := range []struct {
		bound string
		at    func() string
	}{{"faults", j.faults}, {"pending", j.pending}, {"p99", j.p99}, {"fuelPerRow", j.fuel}, {"changed", j.changed}} {
		if message := look.at(); message != "" {
			return look.bound, message
		}
	}
	return "", ""
}

func (j *judge) faults() string {
	return j.more(j.Faulted, j.Stable.Faulted, j.bounds.Faults, defaultFaults, "have faults", "had")
}

// pending compares the same pods, if enough were decided again: pods of one version may be harder to place than the other's. Pods that
// both leave pending are tried again and again, and do not count.
func (j *judge) pending() string {
	if j.bounds.Pending == "" && j.beside && j.Compared >= enough {
		if lost := j.Lost - j.Won; beyond(lost, max(j.least, j.Placed), defaultPending) {
			return fmt.Sprintf("at most %s of the pods that the stable version places may stay pending with it: %d of %d would, "+
				"beyond %d that it would place; spec.rollout.bounds.pending sets another bound", defaultPending, j.Lost, j.Placed, j.Won)
		}
		return j.more(j.Late, j.Stable.Late, "", defaultPending, "leave a pod pending after a node was chosen", "did")
	}
	return j.more(j.Pending, j.Stable.Pending, j.bounds.Pending, defaultPending, "leave a pod pending", "did")
}

// more judges attempts in which something happened. A bound of the rollout is a part of all; the default is beyond the part that the
// stable version has.
func (j *judge) more(its, stable int64, bound, otherwise v1alpha1.Percent, what, did string) string {
	whole, usual := max(j.least, j.Attempts), 0.0
	if bound == "" && j.beside {
		usual = ratio(stable, j.Stable.Attempts)
	}
	if !beyond(its-int64(usual*float64(whole)), whole, cmp.Or(bound, otherwise)) {
		return ""
	}
	text := fmt.Sprintf("at most %s of the attempts may %s: %d of %d attempts %s", cmp.Or(bound, otherwise), what, its, j.Attempts, did)
	if usual > 0 {
		text += fmt.Sprintf(", beyond the %s of the stable version's", percentOf(usual))
	}
	return text
}

func (j *judge) p99() string {
	if j.bounds.P99 == "" || !beyond(j.Slow, max(j.least, j.Attempts), "1%") {
		return ""
	}
	return fmt.Sprintf("99 of 100 attempts may take at most %s: %d of %d attempts took longer", j.bounds.P99, j.Slow, j.Attempts)
}

func (j *judge) fuel() string {
	if most := j.bounds.FuelPerRow; most > 0 {
		if j.Attempts < enough || j.perRow() <= float64(most) {
			return ""
		}
		return fmt.Sprintf("at most %d fuel a row is allowed: after %d attempts it is %d", most, j.Attempts, int64(j.perRow()))
	}
	s := &j.Stable
	row, call, stableRow, stableCall := j.perRow(), j.perCall(), s.perRow(), s.perCall()
	switch {
	case !j.beside || j.Calls < enough || s.Calls < few, row <= cheap, row <= defaultFuel*stableRow, call <= defaultFuel*stableCall:
		return ""
	}
	return fmt.Sprintf("at most %d times the fuel of the stable version is allowed, which uses %.0f a row and %.0f a call: "+
		"it uses %.0f and %.0f; spec.rollout.bounds.fuelPerRow sets another bound", defaultFuel, stableRow, stableCall, row, call)
}

func (j *judge) changed() string {
	bound := cmp.Or(j.bounds.Changed, defaultChanged)
	if !beyond(j.Changed, max(j.least, j.Compared), bound) {
		return ""
	}
	text := fmt.Sprintf("at most %s of the decisions may be different: %d of %d were", bound, j.Changed, j.Compared)
	if j.bounds.Changed == "" {
		text += "; spec.rollout.bounds.changed sets another bound"
	}
	return text
}

// beyond reports whether a part is more than a bound of the whole.
func beyond(some, whole int64, bound v1alpha1.Percent) bool {
	return float64(some)*100 > float64(part(bound)*float64(whole))+1e-9
}

// mustCompare reports whether the rollout waits until its decisions can be compared.
func mustCompare(r *v1alpha1.Rollout) bool { return r.Bounds != nil && r.Bounds.Changed != "" }

// P99 is the bound of time; 0 if there is none.
func P99(r *v1alpha1.Rollout) time.Duration {
	if r == nil || r.Bounds == nil {
		return 0
	}
	return span(r.Bounds.P99, 0)
}
