package app

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// calledAs returns the name by which a program was called, from the first word of its command line: "kubectl berth" for kubectl-berth,
// which kubectl runs as its plugin.
func calledAs(word string) string {
	name := strings.TrimSuffix(filepath.Base(word), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-") // kubectl looks for - under the name _
	}
	return name
}

// callAs has the help of all commands name the program as it was called.
func callAs(root *cobra.Command, name string) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	names := newNames(root)
	flags := func(f *pflag.Flag) { f.Usage = names.in(f.Usage) }
	root.PersistentFlags().VisitAll(flags)
	var in func(c *cobra.Command)
	in = func(c *cobra.Command) {
		c.Short, c.Long, c.Example = names.in(c.Short), names.in(c.Long), names.in(c.Example)
		c.LocalNonPersistentFlags().VisitAll(flags)
		for _, below := range c.Commands() {
			in(below)
		}
	}
	in(root)
}

// names has texts name the program as it was called. They are written with its own name.
type names struct {
	own    *regexp.Regexp // before a command, or --help
	called string
}

func newNames(root *cobra.Command) names {
	commands := []string{"completion", "--help"}
	for _, c := range root.Commands() {
		commands = append(commands, regexp.QuoteMeta(c.Name()))
	}
	return names{own: regexp.MustCompile(`\b` + root.Name() + ` (` + strings.Join(commands, "|") + `)\b`), called: root.CommandPath()}
}

func (n names) in(text string) string {
	return n.own.ReplaceAllStringFunc(text, func(found string) string {
		_, command, _ := strings.Cut(found, " ")
		return n.called + " " + command
	})
}
