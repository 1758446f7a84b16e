package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// uiOptions holds the flags of berth ui.
type uiOptions struct {
	program *program
	file    string
	port    int
	server  serverOptions
	modules moduleOptions
}

func newUI(p *program) *cobra.Command {
	o := uiOptions{program: p}
	cmd := &cobra.Command{
		Use:   "ui [FILE]",
		Short: "Show a scheduler, or a recording, in a browser",
		Long: `Ui shows in a browser which pods wait and why, the last decisions with their scores, the
nodes, and the plugins. It changes nothing.

It asks a running scheduler, as berth explain does. With a FILE it repeats a recording of
berth run --record or berth simulate --record, and shows the scheduler at its end.

It listens on this machine only. It prints a link that works once, for one tab; then it
prints a link for the next tab. An interrupt ends it.`,
		Example: `  berth ui
  berth ui --kubeconfig ~/.kube/config
  berth simulate --cluster cluster/ --record day.berthrec && berth ui day.berthrec`,
		Args:    cobra.MaximumNArgs(1),
		PreRunE: o.server.settle,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.file = args[0]
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.port, "port", 0, "`PORT` to listen on; 0 chooses a free one")
	o.server.reachFlags(f)
	o.modules.addTo(f)
	o.modules.memory, o.modules.log, o.modules.harmless = "2Gi", "none", true
	return cmd
}

func (o *uiOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	if o.port < 0 || o.port > 65535 {
		return fmt.Errorf("--port: %d is not 0 to 65535", o.port)
	}
	if o.file != "" && (o.server.server != "" || o.server.leader.wanted()) {
		return errors.New("a recording and a scheduler (--server, --kubeconfig, --context) exclude each other")
	}
	data, err := o.data(ctx, stderr)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return &failure{fmt.Errorf("--port: %w", err)}
	}
	first := true
	g := &gate{host: l.Addr().String(), data: data, linked: func(url string) {
		text := "For another tab: %s\n"
		if first {
			text = "Open %s (once; an interrupt ends it)\n"
		}
		first = false
		fmt.Fprintf(stdout, text, url)
	}}
	return serveUntilDone(ctx, l, g.handler())
}

// data returns what answers the console.
func (o *uiOptions) data(ctx context.Context, stderr io.Writer) (http.Handler, error) {
	if o.file != "" {
		return o.recording(ctx, stderr)
	}
	p := &passing{ctx: ctx, server: &o.server}
	if _, _, err := p.get(debughttp.OverviewPath); err != nil {
		return nil, err
	}
	return p, nil
}

// passing passes what a console asks on to a scheduler.
type passing struct {
	ctx    context.Context //nolint:containedctx // of the command: a way to the leader lives longer than a request
	server *serverOptions
	mu     struct {
		sync.Mutex
		line *line // nil if there is none, or it failed
	}
}

// ServeHTTP implements http.Handler.
func (p *passing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body, err := p.get(r.URL.EscapedPath())
	if err != nil {
		http.Error(w, plain.Lines(err.Error(), maxRefusal), http.StatusBadGateway)
		return
	}
	if status != http.StatusOK {
		http.Error(w, plain.Lines(strings.TrimSpace(string(body)), maxRefusal), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the tab may be gone
}

// get asks and returns the answer.
func (p *passing) get(path string) (status int, body []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if err != nil || status == http.StatusUnauthorized { // the leader may be another one now, or the token too old
			p.mu.line = nil
		}
	}()
	ctx, cancel := context.WithTimeout(p.ctx, p.server.timeLimit)
	defer cancel()
	response, err := p.ask(ctx, path)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	if body, err = bounded.All(response.Body, maxAnswer); err != nil {
		err = fmt.Errorf("read the scheduler's answer: %w", err)
	}
	return response.StatusCode, body, err
}

// ask asks by the way that worked last. One that nobody uses for a while is closed; then it looks for another.
func (p *passing) ask(ctx context.Context, path string) (response *http.Response, err error) {
	if p.mu.line != nil {
		if response, err := p.mu.line.send(ctx, http.MethodGet, path, ""); err == nil {
			return response, nil
		}
	}
	p.mu.line, response, err = p.server.first(p.ctx, http.MethodGet, path, "")
	return response, err
}
