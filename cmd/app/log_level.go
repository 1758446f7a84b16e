package app

import (
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

func newLogLevel() *cobra.Command {
	o := serverOptions{output: "text", onlySocket: true}
	var socket string
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change what the running scheduler logs",
		Long: `Log-level prints the log level of this user's running scheduler, or changes it until
the scheduler exits. Levels are debug, info, warn, error and none. A number is a
verbosity of kube-scheduler; 4 and above mean debug. The scheduler accepts a change only
at its debug socket, so run the command on its machine or in its pod.`,
		Example: `  berth log-level debug
  kubectl exec -n kube-system POD -- /berth log-level debug
  curl --unix-socket FILE -X PUT -d debug http://berth/debug/flags/v`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("log-level takes at most one argument, the LEVEL")
			}
			return nil
		},
		ValidArgs: []string{"debug", "info", "warn", "error", "none"},
		PreRunE:   applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if socket != "" {
				o.server = "unix:" + socket
			}
			method, level := http.MethodGet, ""
			if len(args) == 1 {
				method, level = http.MethodPut, args[0]
			}
			body, err := o.ask(cmd.Context(), method, debughttp.LevelPath, level)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(body)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&socket, "debug-socket", "", "the scheduler's Unix socket `FILE`, if berth run has a --debug-socket")
	f.DurationVar(&o.timeLimit, "request-timeout", 15*time.Second, "how long the scheduler may take to answer")
	return cmd
}
