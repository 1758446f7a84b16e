package rollout

import (
	"fmt"
	"strconv"
)

// Tally is what a version did at a step.
type Tally struct {
	// Attempts are those that it took part in. In Faulted it faulted, Pending left the pod pending after it
	// had rejected nodes, and in Slow its calls took longer than the bound p99. Late are those of Pending that
	// it rejected at reserve, permit or a later point, which no trial repeats.
	Attempts, Faulted, Pending, Late, Slow int64
	Used
}

// Used is what calls of a version were about, in rows or pods, and the fuel that they used.
type Used struct {
	Calls, Rows, Fuel int64
}

// Since returns what was used after an earlier count; all, if the version was started again meanwhile.
func (u Used) Since(before Used) Used {
	if u.Calls < before.Calls || u.Rows < before.Rows || u.Fuel < before.Fuel {
		return u
	}
	return Used{u.Calls - before.Calls, u.Rows - before.Rows, u.Fuel - before.Fuel}
}

// Plus returns the sum.
func (u Used) Plus(o Used) Used {
	return Used{u.Calls + o.Calls, u.Rows + o.Rows, u.Fuel + o.Fuel}
}

// perRow and perCall are the fuel of a row and of a call.
func (u Used) perRow() float64  { return ratio(u.Fuel, u.Rows) }
func (u Used) perCall() float64 { return ratio(u.Fuel, u.Calls) }

// Counts are what a version did at a step, beside the stable one.
type Counts struct {
	Tally
	// Stable is what the stable version did meanwhile, for other pods.
	Stable Tally
	Again
}

// Again are the decisions of the stable version that were made again with the new one.
type Again struct {
	// Compared is their number, of which the stable version placed Placed. Changed were different, but for ties.
	// Lost would leave a pod pending that the stable version placed, and Won the other way round.
	Compared, Placed, Changed, Lost, Won int64
}

// Since returns what was compared after an earlier count; all, if the trial began again meanwhile.
func (a Again) Since(before Again) Again {
	if a.Compared < before.Compared {
		return a
	}
	return Again{
		Compared: a.Compared - before.Compared, Placed: a.Placed - before.Placed, Changed: a.Changed - before.Changed,
		Lost: a.Lost - before.Lost, Won: a.Won - before.Won,
	}
}

// String says it in a line.
func (c *Counts) String() string {
	part := percent(c.Attempts, c.Attempts+c.Stable.Attempts)
	out := fmt.Sprintf("%d attempts, %s of all; %d with faults, %d left pending", c.Attempts, part, c.Faulted, c.Pending)
	if c.Rows > 0 {
		out += fmt.Sprintf("; %d fuel a row", c.Fuel/c.Rows)
		if c.Stable.Rows > 0 {
			out += fmt.Sprintf(" (the stable version: %d)", c.Stable.Fuel/c.Stable.Rows)
		}
	}
	if c.Compared > 0 {
		out += fmt.Sprintf("; %d of %d decisions would be different", c.Changed, c.Compared)
	}
	return out
}

func ratio(part, whole int64) float64 { return float64(part) / float64(max(1, whole)) }

func percent(part, whole int64) string { return percentOf(ratio(part, whole)) }

func percentOf(part float64) string { return strconv.FormatFloat(float64(100*part), 'f', 1, 64) + "%" }
