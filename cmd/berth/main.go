// Command berth is a Kubernetes scheduler whose decision points are plugins.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/config"
)

// version is set by the linker.
var version = "dev" //nolint:gochecknoglobals // -ldflags -X needs a package variable

// Exit statuses.
const (
	exitOK = iota
	exitFailed
	exitBadInput
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintf(stderr, "berth: %v\n", err)
	}
	var failed *failure
	if errors.As(err, &failed) {
		return exitFailed
	}
	return exitBadInput
}

// errSilent has been told to the user already.
var errSilent = errors.New("silent")

// failure is an error that is not the fault of the input.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "A Kubernetes scheduler whose decision points are plugins",
		Long: `Berth is a Kubernetes scheduler whose decision points are plugins.

Every flag can also be set by an environment variable, as BERTH_SEED for
--seed, or in a YAML file named by --settings. A flag wins over the
environment, and that over the file.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().String("settings", "", "YAML `FILE` with values for flags, by their names")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		file, err := settingsFile(cmd)
		if err != nil {
			return err
		}
		_, err = config.NewSettings(cmd.Flags(), file)
		return err
	}
	root.AddCommand(newSimulate(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "berth %s\n", version)
			return err
		},
	}
}

// settingsFile returns the file named by flag or environment.
func settingsFile(cmd *cobra.Command) (string, error) {
	if f := cmd.Flags().Lookup("settings"); !f.Changed && os.Getenv("BERTH_SETTINGS") != "" {
		return os.Getenv("BERTH_SETTINGS"), nil
	}
	return cmd.Flags().GetString("settings")
}
