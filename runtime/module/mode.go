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

// Trial is how a plugin that may be new takes part.
type Trial struct {
	Mode Mode
	// Replaces is the plugin of the profile whose place one in Shadow takes; empty if it runs
	// beside all others.
	Replaces string
}

// check returns a problem for values that mean nothing; its path is the field.
func (t *Trial) check(mode, replaces string) *schema.Problem {
	switch t.Mode = Mode(mode); t.Mode {
	case "", Enforce, Shadow, Disabled:
	default:
		return &schema.Problem{Path: "mode", Detail: strconv.Quote(mode) + " is not a mode", Fix: "write Enforce, Shadow or Disabled"}
	}
	t.Replaces = replaces
	if replaces != "" && t.Mode != Shadow {
		return &schema.Problem{Path: "replaces", Detail: "only a plugin in mode Shadow takes another one's place", Fix: "add mode Shadow, or leave it out"}
	}
	if t.Mode == Enforce {
		t.Mode = "" // so that there is one value of each meaning
	}
	return nil
}
