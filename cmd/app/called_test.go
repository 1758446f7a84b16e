package app

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCalledAs: help and messages of every command have the name by which the program was called, and no other.
func TestCalledAs(t *testing.T) {
	for word, want := range map[string]string{
		"berth": "berth", "/usr/bin/berth": "berth", "/krew/bin/kubectl-berth": "kubectl berth", "kubectl-berth.exe": "kubectl berth",
		"kubectl-my_berth": "kubectl my-berth", "./zones": "zones",
	} {
		if got := calledAs(word); got != want {
			t.Errorf("%s is %q, want %q", word, got, want)
		}
	}
	const name = "kubectl berth"
	other := regexp.MustCompile(`(?m)(^|[^l] |[("])berth (run|explain|plugin|simulate|whatif|replay|ui|config|--help)\b`)
	commands := 0
	var check func(words []string, c *cobra.Command)
	check = func(words []string, c *cobra.Command) {
		commands++
		for _, arg := range []string{"--help", "--no-such-flag"} {
			var stdout, stderr bytes.Buffer
			root := newRoot(newProgram(), wideEnough)
			callAs(root, name)
			execute(t.Context(), root, append(words[:len(words):len(words)], arg), &stdout, &stderr)
			out := stdout.String() + stderr.String()
			if found := other.FindString(out); found != "" || !c.Hidden && !strings.Contains(out, name) {
				t.Errorf("%s %q %s has %q:\n%s", name, words, arg, found, out)
			}
		}
		for _, below := range c.Commands() {
			check(append(words[:len(words):len(words)], below.Name()), below)
		}
	}
	check(nil, newRoot(newProgram(), wideEnough))
	if commands < 30 {
		t.Errorf("only %d commands were looked at", commands)
	}
}
