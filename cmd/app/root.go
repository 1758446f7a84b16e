package app

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/config"
)

// newRoot returns the root command. Help texts have lines of at most width characters.
func newRoot(p *program, width int) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "A Kubernetes scheduler whose decisions are made by plugins",
		// The help of berth itself fits on a screen of 24 lines.
		Long:          "A Kubernetes scheduler. Variables set flags, too: BERTH_SEED sets --seed.",
		Version:       p.version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(*cobra.Command, []string) error { return p.check() },
	}
	root.SetVersionTemplate(p.versionLine())
	root.SetFlagErrorFunc(flagError)
	usage := root.UsageTemplate()
	setUsage := func(cmd *cobra.Command, width int) {
		cmd.SetUsageTemplate(strings.NewReplacer(
			"FlagUsages ", fmt.Sprintf("FlagUsagesWrapped %d ", width),
			"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}",
			`(or .IsAvailableCommand (eq .Name "help"))`, ".IsAvailableCommand",
		).Replace(usage))
	}
	setUsage(root, width)
	root.PersistentFlags().String("settings", "", "YAML `FILE` with values of flags by name")
	run := newRun(p)
	if width < wideEnough {
		setUsage(run, min(width, 80))
	}
	root.AddCommand(run, newConfig(p), newExplain(), newLogLevel(), newSimulate(p), newWhatIf(p), newReplay(), newUI(p), newPlugin(p), newRegistry(), newTrace(), newVersion(p), newCompile())
	root.CompletionOptions.HiddenDefaultCmd = true // berth completion --help still describes it
	// Every program has these flags.
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Hidden = true
	}
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Hidden = true
	root.InitDefaultHelpFlag()
	root.Flags().Lookup("help").Hidden = true // the last line names it
	return root
}

// wideEnough is the width of a terminal from which on there is room beside the long names of
// kube-scheduler's flags. With less, pflag is told of a narrow one, and writes below each name what it is for.
const wideEnough = 140

func newVersion(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), p.versionLine())
			return err
		},
	}
}

// versionLine names the program's version, and the ABI, which manifests of modules name.
func (p *program) versionLine() string {
	return fmt.Sprintf("berth %s, ABI %d.%d\n", p.version, abi.Major, abi.Minor)
}

// knownCommand rejects unknown commands and suggests a similar one.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], near[0])
	}
	return fmt.Errorf("unknown command %q: berth --help lists the commands", args[0])
}

// applySettings sets flags that are not on the command line from the environment and the
// settings file.
func applySettings(cmd *cobra.Command, args []string) error {
	file, err := cmd.Flags().GetString("settings")
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("settings") {
		file = os.Getenv("BERTH_SETTINGS")
	}
	if _, err = config.NewSettings(cmd.Context(), cmd.Flags(), file); err != nil {
		return unreadable(err, "settings", file)
	}
	return onceFromStdin(cmd, args)
}

// onceFromStdin refuses a command line that reads the standard input more than once: the second reader would find nothing.
func onceFromStdin(cmd *cobra.Command, args []string) error {
	var readers []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, value := range values {
			if value == bounded.Stdin {
				readers = append(readers, "--"+f.Name)
			}
		}
	})
	for _, arg := range args {
		if arg == bounded.Stdin {
			readers = append(readers, "an argument")
		}
	}
	if len(readers) < 2 {
		return nil
	}
	return fmt.Errorf("%s read the standard input: name files for all but one of them", strings.Join(readers, " and "))
}

// flagError explains an invalid flag.
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

// unreadable adds the flag that named a file to the error of opening it; an argument has none.
func unreadable(err error, flag, file string) error {
	var open *os.PathError
	switch {
	case !errors.As(err, &open) || open.Path != file:
		return err
	case flag == "":
		return fmt.Errorf("%w (name a file that can be read)", err)
	default:
		return fmt.Errorf("%w (name a file that can be read with --%s)", err, flag)
	}
}
