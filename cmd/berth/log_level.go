package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

func newLogLevel() *cobra.Command {
	o := serverOptions{output: "text"}
	var socket string
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change what the running scheduler logs",
		Long: `Log-level prints from which level on the running scheduler of this user logs, or
changes the level until the scheduler ends: debug, info, warn, error or none; a number
is kube-scheduler's verbosity, and means debug from 4 on. The scheduler takes it at its
debug socket only, so run the command on the machine, or in the pod.`,
		Example: `  berth log-level debug
  kubectl exec -n kube-system POD -- /berth log-level debug
  curl --unix-socket FILE -X PUT -d debug http://berth/debug/flags/v`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("log-level takes one argument at most, the LEVEL")
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
	f.StringVar(&socket, "debug-socket", "", "the scheduler's Unix socket `FILE`, if berth run was given one")
	f.DurationVar(&o.timeLimit, "request-timeout", 15*time.Second, "how long the scheduler may take to answer")
	return cmd
}
