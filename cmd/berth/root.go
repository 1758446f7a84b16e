package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/config"
)

// newRoot makes the commands; their help has lines of at most width characters.
func newRoot(width int) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "A Kubernetes scheduler whose decision points are plugins",
		Long: `Berth is a Kubernetes scheduler whose decision points are plugins.
Every flag of a command can also be set by an environment variable, as
BERTH_SEED for --seed, which a flag overrides, or in the file of --settings.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.NewReplacer(
		"FlagUsages ", fmt.Sprintf("FlagUsagesWrapped %d ", width),
		// The help of berth itself fits a screen of 24 lines.
		"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}",
		`(or .IsAvailableCommand (eq .Name "help"))`, ".IsAvailableCommand",
	).Replace(root.UsageTemplate()))
	root.PersistentFlags().String("settings", "", "YAML `FILE` with values for flags, by their names")
	root.AddCommand(newRun(), newConfig(), newExplain(), newLogLevel(), newSimulate(), newPlugin(), newTrace(), newVersion(), newCompile())
	// Every program has these.
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Hidden = true
	}
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Hidden = true
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

func versionLine() string { return "berth " + version + "\n" }

// knownCommand refuses words that are no command, with what may have been meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q: did you mean %s?", args[0], near[0])
	}
	return fmt.Errorf("there is no command %q: berth --help lists the commands", args[0])
}

// applySettings sets the flags that are not on the command line from the
// environment and the settings file.
func applySettings(cmd *cobra.Command, _ []string) error {
	file, err := cmd.Flags().GetString("settings")
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("settings") {
		file = os.Getenv("BERTH_SETTINGS")
	}
	if _, err = config.NewSettings(cmd.Flags(), file); err != nil {
		return unreadable(err, "settings", file)
	}
	return nil
}

// flagError words what is wrong on the command line.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("%w: %s --help lists the flags", err, cmd.CommandPath())
	}
	f := invalid.GetFlag()
	kinds := map[string]string{
		"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false",
	}
	kind, ok := kinds[f.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s: %q is not %s", f.Name, invalid.GetValue(), kind)
}

// unreadable adds to the error of opening a file which flag named it.
func unreadable(err error, flag, file string) error {
	var open *os.PathError
	if errors.As(err, &open) && open.Path == file {
		return fmt.Errorf("%w (name a file that can be read with --%s)", err, flag)
	}
	return err
}
