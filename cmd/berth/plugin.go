package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newPlugin makes the commands about modules.
func newPlugin() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Make, build and test plugins, and look into them",
		Long: `Plugin makes projects of plugins, and builds, tests, measures and inspects plugin
modules: WebAssembly files that carry a manifest, which says what a plugin reads and at
which points it is asked. Status asks a running scheduler.`,
		Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginNew(), newPluginBuild(), newPluginTest(), newPluginBench(), newPluginInspect(), newPluginConformance(), newPluginStatus())
	return cmd
}

// knownSubcommand refuses words that are no command below cmd.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q: did you mean %s %s?", args[0], cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("there is no command %q: %s --help lists the commands", args[0], cmd.CommandPath())
}

// oneArgument wants one file or folder; what names it in the message.
func oneArgument(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("no %s: write %s %s", what, cmd.CommandPath(), example)
		case 1:
			return nil
		}
		return fmt.Errorf("%q is too much: %s takes one %s", args[1], cmd.CommandPath(), what)
	}
}

// optionalArgument wants one file or folder, or none; what names it in the message.
func optionalArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%q is too much: %s takes one %s", args[1], cmd.CommandPath(), what)
		}
		return nil
	}
}

// writing wraps an error of writing the output; nil stays nil.
func writing(err error) error {
	if err == nil {
		return nil
	}
	return &failure{fmt.Errorf("print the result: %w", err)}
}
