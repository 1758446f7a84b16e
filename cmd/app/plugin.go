package app

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newPlugin returns the commands about modules.
func newPlugin(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Create, build, test, publish, find and inspect plugins",
		Long: `Plugin creates plugin projects; builds, tests, benchmarks, inspects and publishes plugin
modules; and finds, installs and upgrades those of others. A module is a WebAssembly file
with a manifest, which lists the plugin's extension points and everything that it reads.`,
		Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginNew(), newPluginBuild(), newPluginTest(), newPluginDev(p), newPluginBench(), newPluginSDK(),
		newPluginInspect(), newPluginConformance(),
		newPluginSBOM(), newPluginPush(), newPluginPull(), newPluginCopy(), newPluginKeygen(), newPluginSign(), newPluginVerify(), newPluginLock(p),
		newPluginIndex(), newPluginYank(), newPluginSearch(), newPluginInfo(),
		newPluginInstall(p), newPluginUninstall(p), newPluginOutdated(p), newPluginUpgrade(p), newPluginSite(),
		newPluginStatus(), newPluginDebts(), newPluginDiff(), newPluginRollout(), newPluginPromote(), newPluginPause(), newPluginRollback(),
		newPluginDisable())
	return cmd
}

// knownSubcommand rejects words that are not a subcommand of cmd.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s %s?", args[0], cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q: %s --help lists the commands", args[0], cmd.CommandPath())
}

// oneArgument requires one file or folder; what is its name in errors.
func oneArgument(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("the %s is missing: write %s %s", what, cmd.CommandPath(), example)
		case 1:
			return nil
		}
		return fmt.Errorf("unexpected argument %q: %s takes one %s", args[1], cmd.CommandPath(), what)
	}
}

// noArguments rejects arguments. flags are those that name files, as arguments probably do; empty if there are none.
func noArguments(flags string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return nil
		case flags != "":
			return fmt.Errorf("%s takes no arguments: name %s with %s", cmd.Name(), args[0], flags)
		}
		return fmt.Errorf("unexpected argument %q: %s takes none", args[0], cmd.CommandPath())
	}
}

// optionalArgument allows one file or folder; what is its name in errors.
func optionalArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("unexpected argument %q: %s takes one %s", args[1], cmd.CommandPath(), what)
		}
		return nil
	}
}

// writing wraps an error of writing the output. It returns nil for nil.
func writing(err error) error {
	if err == nil {
		return nil
	}
	return &failure{fmt.Errorf("print the result: %w", err)}
}
