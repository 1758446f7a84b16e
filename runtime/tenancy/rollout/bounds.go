package rollout

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// Counts are what a version did at a step.
type Counts struct {
	// Attempts are those that it took part in. In Faulted it faulted, Pending left the pod pending
	// after it had rejected nodes, and in Slow its calls took longer than the bound p99.
	Attempts, Faulted, Pending, Slow int64
	// Others are the attempts that the stable version decided meanwhile.
	Others int64
	// Rows and Fuel are those of its calls.
	Rows, Fuel int64
	// Compared are decisions for other pods that were made again with it, and Changed those that
	// were different.
	Compared, Changed int64
}

// String says it in a line.
func (c *Counts) String() string {
	out := fmt.Sprintf("%d attempts, %s of all; %d with faults, %d left pending", c.Attempts, percent(c.Attempts, c.Attempts+c.Others), c.Faulted, c.Pending)
	if c.Rows > 0 {
		out += fmt.Sprintf("; %d fuel a row", c.Fuel/c.Rows)
	}
	if c.Compared > 0 {
		out += fmt.Sprintf("; %d of %d decisions would be different", c.Changed, c.Compared)
	}
	return out
}

func percent(part, whole int64) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(1, whole)), 'f', 1, 64) + "%"
}

// The reasons of a step back that are no bound.
const (
	// Stopped: the calls of the version are stopped after faults.
	Stopped = "Stopped"
	// Refused: the version cannot run any more.
	Refused = "Refused"
)

// enough is how many attempts or decisions a mean is made of, at least.
const enough = 30

// broken returns the bound that the version has gone beyond, with what was expected and observed. A
// bound of a part of the attempts is broken as soon as it must be at the end of the step.
func (n *next) broken(least int64) (reason, message string) {
	b, x := &v1alpha1.RolloutBounds{}, &n.seen.Counts
	if n.plan.Rollout.Bounds != nil {
		b = n.plan.Rollout.Bounds
	}
	after := fmt.Sprintf(" of %d attempts", x.Attempts)
	faults, pending := cmp.Or(b.Faults, "0.1%"), cmp.Or(b.Pending, "10%")
	switch {
	case n.seen.Stopped != "":
		return Stopped, "its calls were stopped after" + strings.TrimPrefix(after, " of") + ": " + n.seen.Stopped
	case n.seen.Refused != "" && n.seen.Digest == "" && n.status.Stable != nil: // otherwise there is nothing to step back to
		return Refused, n.seen.Refused
	case beyond(x.Faulted, max(least, x.Attempts), faults):
		return "faults", fmt.Sprintf("at most %s of the attempts may have faults: %d%s had", faults, x.Faulted, after)
	case beyond(x.Pending, max(least, x.Attempts), pending):
		return "pending", fmt.Sprintf("at most %s of the attempts may leave a pod pending: %d%s did", pending, x.Pending, after)
	case b.P99 != "" && beyond(x.Slow, max(least, x.Attempts), "1%"):
		return "p99", fmt.Sprintf("99 of 100 attempts may take at most %s: %d%s took longer", b.P99, x.Slow, after)
	case b.FuelPerRow > 0 && x.Attempts >= enough && x.Fuel > b.FuelPerRow*x.Rows:
		return "fuelPerRow", fmt.Sprintf("at most %d fuel a row is allowed: after %d attempts it is %d", b.FuelPerRow, x.Attempts, x.Fuel/max(1, x.Rows))
	case b.Changed != "" && beyond(x.Changed, max(least, x.Compared), b.Changed):
		return "changed", fmt.Sprintf("at most %s of the decisions may be different: %d of %d were", b.Changed, x.Changed, x.Compared)
	}
	return "", ""
}

// beyond reports whether a part is more than a bound of the whole.
func beyond(some, whole int64, bound v1alpha1.Percent) bool {
	return float64(some)*100 > float64(part(bound)*float64(whole))+1e-9
}

// P99 is the bound of time; 0 if there is none.
func P99(r *v1alpha1.Rollout) time.Duration {
	if r == nil || r.Bounds == nil {
		return 0
	}
	return span(r.Bounds.P99, 0)
}
