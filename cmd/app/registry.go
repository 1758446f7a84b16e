package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/market/oci"
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
registry has neither users nor TLS: everyone who can connect to it may push, but for pages in
a browser.`,
		Example: `  berth registry serve plugins --listen 127.0.0.1:5000`,
		Args:    oneArgument("folder", "DIR"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			handler, err := registry.New(registry.Config{Dir: args[0]})
			if err != nil {
				return err
			}
			if pages != "" {
				if handler, err = withPages(handler, pages); err != nil {
					return fmt.Errorf("--site: %w", err)
				}
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
			return serveUntilDone(cmd.Context(), l, withoutBrowsers(handler, l.Addr()))
		},
	}
	cmd.Flags().StringVar(&pages, "site", "", "also serve the pages in this `DIR`, as berth plugin site wrote them")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:5000", "`ADDRESS` to listen on; port 0 chooses a free port")
	return cmd
}

// withPages serves pages beside a registry, which has the paths below /v2/. Symbolic links do not lead out of their folder.
func withPages(registry http.Handler, dir string) (http.Handler, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { // it may be written later
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v2/", registry)
	mux.Handle("/", http.FileServerFS(root.FS()))
	return mux, nil
}

// withoutBrowsers keeps hostile pages in a browser of this machine away from a registry without users: they cannot push, because
// browsers send the Origin of a page; and a name that they had resolved to this machine is not one of its own.
func withoutBrowsers(handler http.Handler, at net.Addr) http.Handler {
	tcp, ok := at.(*net.TCPAddr)
	onlyHere := ok && tcp.IP.IsLoopback()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		switch {
		case onlyHere && !oci.IsLocal(strings.Trim(host, "[]")):
			http.Error(w, "this registry is at "+at.String(), http.StatusMisdirectedRequest)
		case r.Header.Get("Origin") != "" && strings.HasPrefix(r.URL.Path, "/v2/"):
			http.Error(w, "the registry is not for pages in browsers", http.StatusForbidden)
		default:
			handler.ServeHTTP(w, r)
		}
	})
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
