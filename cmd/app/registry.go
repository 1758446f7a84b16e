package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/market/registry"
)

func newRegistry() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Serve a small OCI registry",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRegistryServe())
	return cmd
}

func newRegistryServe() *cobra.Command {
	var listen, pages string
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a folder as an OCI registry, for development and tests",
		Long: `Serve runs an OCI registry on a folder, for development, tests and isolated networks.
Each repository is a subfolder in OCI layout, which you can also name as oci:DIR. The
registry has neither users nor TLS: everyone who can connect to it may push.`,
		Example: `  berth registry serve plugins --listen 127.0.0.1:5000`,
		Args:    oneArgument("folder", "DIR"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			handler, err := registry.New(registry.Config{Dir: args[0]})
			if err != nil {
				return err
			}
			if pages != "" {
				handler = withPages(handler, pages)
				if _, err := os.Stat(filepath.Join(pages, "index.html")); err != nil {
					plainly(cmd.ErrOrStderr())(fmt.Sprintf("--site: %v: write the pages with berth plugin site %s", err, pages))
				}
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Serving %s at %s\n", args[0], l.Addr()); err != nil {
				return errors.Join(writing(err), l.Close())
			}
			return serveUntilDone(cmd.Context(), l, handler)
		},
	}
	cmd.Flags().StringVar(&pages, "site", "", "also serve the pages in this `DIR`, as berth plugin site wrote them")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:5000", "`ADDRESS` to listen on; port 0 chooses a free port")
	return cmd
}

// withPages serves pages beside a registry, which has the paths below /v2/.
func withPages(registry http.Handler, dir string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v2/", registry)
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	return mux
}

// serveUntilDone serves until the context ends, and then waits for running requests.
func serveUntilDone(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return &failure{err}
	}
	return <-stopped
}
