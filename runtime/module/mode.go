package module

import (
	"strconv"

	"github.com/berth-scheduler/berth/abi/schema"
)

// Mode says whether a plugin decides.
type Mode string

// The modes. The zero value means Enforce.
const (
	// Enforce lets the plugin decide.
	Enforce Mode = "Enforce"
	// Shadow decides again with the plugin what has been decided without it, and does nothing
	// about it but to count and keep what differs.
	Shadow Mode = "Shadow"
	// Disabled leaves the plugin out. Its module is still checked. (YAML reads off as a boolean.)
	Disabled Mode = "Disabled"
)

// Use is how a plugin takes part, apart from its order and weight.
type Use struct {
	Mode Mode
	// Replaces is the plugin of the profile whose place one in Shadow takes; empty if it runs
	// beside all others.
	Replaces string
}

// check returns a problem for values that mean nothing; its path is the field.
func (u *Use) check(mode, replaces string) *schema.Problem {
	switch u.Mode = Mode(mode); u.Mode {
	case "", Enforce, Shadow, Disabled:
	default:
		return &schema.Problem{Path: "mode", Detail: strconv.Quote(mode) + " is not a mode", Fix: "write Enforce, Shadow or Disabled"}
	}
	u.Replaces = replaces
	if replaces != "" && u.Mode != Shadow {
		return &schema.Problem{Path: "replaces", Detail: "only a plugin in mode Shadow takes another one's place", Fix: "add mode Shadow, or leave it out"}
	}
	if u.Mode == Enforce {
		u.Mode = "" // so that there is one value of each meaning
	}
	return nil
}
