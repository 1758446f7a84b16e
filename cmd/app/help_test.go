package app

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelpIsNarrow: what a command says of itself fits a terminal; its flags are wrapped when
// they are printed.
func TestHelpIsNarrow(t *testing.T) {
	const most = 100
	commands := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		commands++
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > most {
				t.Errorf("%s --help has a line of %d characters: %s", c.CommandPath(), n, line)
			}
		}
		for _, below := range c.Commands() {
			check(below)
		}
	}
	check(newRoot(newProgram(), most))
	if commands < 30 {
		t.Errorf("only %d commands were looked at", commands)
	}
}
