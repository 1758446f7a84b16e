package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// newTrace returns the commands about cluster traces.
func newTrace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Inspect cluster traces",
		Long:  `Trace inspects cluster traces, such as those that berth simulate --trace imports.`,
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTraceTypical())
	return cmd
}

func newTraceTypical() *cobra.Command {
	var format, pods string
	cmd := &cobra.Command{
		Use:   "typical --pods FILE",
		Short: "List the kinds of pods that make up most of a trace",
		Long: `Typical groups the pods of a trace by the CPU, GPUs and GPU models that they request,
and prints the largest groups that together have 95 % of the pods. The output is JSON,
the configuration of the example plugin fgd.`,
		Example: `  berth trace typical --pods openb_pod_list_default.csv > fgd.json`,
		Args:    noArguments(""),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printTypical(cmd.Context(), cmd.OutOrStdout(), format, pods)
		},
	}
	cmd.Flags().StringVar(&format, "trace", "openb", "`FORMAT` of the trace: openb")
	cmd.Flags().StringVar(&pods, "pods", "", "pod list of the trace, a CSV `FILE`")
	return cmd
}

func printTypical(ctx context.Context, w io.Writer, format, pods string) error {
	if pods == "" {
		return errors.New("no pods: name the pod list of the trace with --pods FILE")
	}
	typical, err := input.LoadTypicalPods(ctx, format, pods)
	if err != nil {
		return unreadable(err, "pods", pods)
	}
	if len(typical) == 0 {
		return fmt.Errorf("%s: the file has no pods", pods)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return writing(e.Encode(struct {
		TypicalPods []input.TypicalPod `json:"typicalPods"`
	}{typical}))
}
