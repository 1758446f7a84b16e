package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// serverOptions holds the flags for finding the running scheduler.
type serverOptions struct {
	server    string
	token     string
	ca        string
	insecure  bool
	output    string
	timeLimit time.Duration
	leader    leaderFinder
	led       bool // the leader of the user's cluster was asked
	// onlySocket is true for commands that only the debug socket answers, which have --debug-socket and not --server.
	onlySocket bool
	// after (optional) is time.After for a wait that the server asks for.
	after func(time.Duration) <-chan time.Time
}

func (o *serverOptions) flags(f *pflag.FlagSet) {
	o.reachFlags(f)
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text or json")
}

// reachFlags adds those that say where the scheduler is.
func (o *serverOptions) reachFlags(f *pflag.FlagSet) {
	f.StringVar(&o.server, "server", "", "the running scheduler: a `URL` such as https://10.0.0.1:10259, or unix:FILE; the debug socket of this user's scheduler if not given")
	f.StringVar(&o.token, "token-file", "", "`FILE` with a bearer token for the server")
	f.StringVar(&o.ca, "certificate-authority", "", "`FILE` with the certificate authorities for the server's certificate; the system's if not given")
	f.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "do not verify the server's certificate")
	f.DurationVar(&o.timeLimit, "request-timeout", 15*time.Second, "how long the server may take to answer")
	o.leader.flags(f)
}

// settle is applySettings for a command with these flags.
func (o *serverOptions) settle(cmd *cobra.Command, args []string) error {
	if err := applySettings(cmd, args); err != nil {
		return err
	}
	warnPlain(plainly(cmd.ErrOrStderr()), o.server)
	return nil
}

// get asks the running scheduler and returns its answer.
func (o *serverOptions) get(ctx context.Context, path string) ([]byte, error) {
	return o.ask(ctx, http.MethodGet, path, "")
}

// check refuses flags that cannot be used.
func (o *serverOptions) check() error {
	switch {
	case o.output != "text" && o.output != "json":
		return fmt.Errorf("--output: %q is neither text nor json", o.output)
	case o.timeLimit <= 0:
		return fmt.Errorf("--request-timeout: %v is not positive", o.timeLimit)
	case o.leader.lease == "":
		return nil
	}
	return o.leader.check()
}

// maxAnswer is the most bytes of a scheduler's answer, and maxKept the most that it takes as values.
const (
	maxAnswer = 64 << 20
	maxKept   = 512 << 20
)

// readAnswer decodes a scheduler's answer.
func readAnswer(ctx context.Context, body []byte, into any) error {
	if err := bounded.JSON(ctx, body, maxKept, into); err != nil {
		return &failure{fmt.Errorf("read the scheduler's answer: %w (does the scheduler have another version?)", err)}
	}
	return nil
}

// ask sends a request to the scheduler that the flags name, or to the local one, and returns
// the answer. If a kubeconfig is given or no local scheduler answers, it asks the leader of the cluster.
func (o *serverOptions) ask(ctx context.Context, method, path, text string) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeLimit)
	defer cancel()
	l, response, err := o.first(ctx, method, path, text)
	var body []byte
	for {
		if err != nil {
			return nil, err
		}
		body, err = bounded.All(response.Body, maxAnswer)
		_ = response.Body.Close() // it was read
		if err != nil {
			return nil, &failure{fmt.Errorf("read the scheduler's answer: %w", err)}
		}
		if response.StatusCode != http.StatusTooManyRequests || !o.waitAsAsked(ctx, response) {
			break
		}
		if response, err = l.send(ctx, method, path, text); err != nil {
			return nil, &failure{fmt.Errorf("ask again: %w", err)}
		}
	}
	if to := response.Header.Get("Location"); to != "" && response.StatusCode/100 == 3 {
		return nil, &failure{fmt.Errorf(
			"the server redirects to %s, and nothing is sent there: name the scheduler itself with --server", plain.URL(to))}
	}
	said := strings.TrimSpace(string(body))
	switch response.StatusCode {
	case http.StatusOK:
		return body, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, &failure{fmt.Errorf("%s (pass --token-file with the token of a user who may %s %s)", said, strings.ToLower(method), path)}
	}
	return nil, &failure{errors.New(said)}
}

// waitAsAsked waits as long as the header Retry-After says, one second if there is none; false if the context ends before.
func (o *serverOptions) waitAsAsked(ctx context.Context, response *http.Response) bool {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		seconds = 1
	}
	wait := time.Duration(seconds) * time.Second
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return false
	}
	after := o.after
	if after == nil {
		after = time.After
	}
	select {
	case <-after(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// line is a way to a scheduler.
type line struct {
	client *http.Client
	base   string // of URLs
	token  string // may be empty
}

// send sends a request.
func (l *line) send(ctx context.Context, method, path, text string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.base+path, strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	if l.token != "" {
		request.Header.Set("Authorization", "Bearer "+l.token)
	}
	return l.client.Do(request)
}

// first sends a first request, and returns the way that it took.
func (o *serverOptions) first(ctx context.Context, method, path, text string) (*line, *http.Response, error) {
	var token string
	if o.token != "" {
		data, err := bounded.File(ctx, o.token, bounded.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("--token-file: %w", err)
		}
		if token = strings.TrimSpace(string(data)); token == "" {
			return nil, nil, fmt.Errorf("--token-file: %s is empty: write a token to it, or leave the flag out", bounded.Name(o.token))
		}
	}
	lead := func(visitor *kube.Visitor) (*line, *http.Response, error) {
		client, given, err := o.leader.reach(ctx, visitor, token == "")
		if err != nil {
			return nil, nil, err
		}
		o.led = true
		l := &line{client, "https://leader", cmp.Or(token, given)}
		response, err := l.send(ctx, method, path, text)
		return l, response, err
	}
	var l *line
	var response *http.Response
	var err error
	if o.server == "" && o.leader.wanted() {
		visitor, failed := o.leader.user.Connect(ctx)
		if failed != nil { // what the flags name cannot be used
			return nil, nil, failed
		}
		l, response, err = lead(visitor)
	} else {
		client, base, failed := o.client(ctx)
		if failed != nil {
			return nil, nil, failed
		}
		l = &line{client, base, token}
		response, err = l.send(ctx, method, path, text)
		if err != nil && o.server == "" && o.leader.lease != "" {
			visitor, failed := o.leader.user.Connect(ctx)
			if failed == nil {
				if l, response, failed = lead(visitor); failed == nil {
					err = nil
				}
			}
			if failed != nil && !errors.Is(failed, kube.ErrNoCluster) {
				return nil, nil, &failure{fmt.Errorf("no local scheduler answers: %w\n%w", err, failed)}
			}
		}
	}
	var stranger *tls.CertificateVerificationError
	switch {
	case errors.As(err, &stranger):
		return nil, nil, &failure{fmt.Errorf("the scheduler's certificate cannot be verified: %w (name its authority with --certificate-authority; "+
			"the certificate of a scheduler without --tls-cert-file is self-signed and needs --insecure-skip-tls-verify)", stranger)}
	case err != nil && o.server == "" && o.leader.wanted():
		return nil, nil, &failure{err}
	case err != nil && o.onlySocket:
		return nil, nil, &failure{fmt.Errorf("no scheduler answers: %w (is berth run running here? run this beside the leader, "+
			"and name its socket with --debug-socket if it has one of its own)", err)}
	case err != nil:
		return nil, nil, &failure{fmt.Errorf("no scheduler answers: %w (is berth run running here? if it runs elsewhere, name its cluster with --kubeconfig, or it with --server)", err)}
	}
	return l, response, nil
}

// client returns a client for the server, and the start of its URLs.
func (o *serverOptions) client(ctx context.Context) (*http.Client, string, error) {
	server := o.server
	if server == "" {
		socket, err := defaultSocket()
		if err != nil {
			return nil, "", fmt.Errorf("the scheduler's socket: %w (name it with --server unix:FILE)", err)
		}
		server = "unix:" + socket
	}
	if socket, ok := strings.CutPrefix(server, "unix:"); ok {
		return direct(&http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			},
		}), "http://berth", nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, "", fmt.Errorf("--server: %q is neither a URL nor unix:FILE", server)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.insecure} //nolint:gosec // asked for
	if o.ca != "" {
		pem, err := bounded.File(ctx, o.ca, bounded.Key)
		if err != nil {
			return nil, "", fmt.Errorf("--certificate-authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("--certificate-authority: %s contains no certificate", o.ca)
		}
	}
	return direct(&http.Transport{TLSClientConfig: config}), strings.TrimSuffix(server, "/"), nil
}

// direct returns a client that follows no redirects, so that tokens and questions go to no other server.
func direct(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// warnPlain warns of a server on another machine without TLS.
func warnPlain(tell func(text string), server string) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" || oci.IsLocal(u.Hostname()) {
		return
	}
	tell(fmt.Sprintf("--server: everybody on the way to %s can read and change what is sent, the token as well: write https://",
		plain.URL(server)))
}

func newExplain() *cobra.Command {
	var o serverOptions
	var change bool
	cmd := &cobra.Command{
		Use:   "explain NAMESPACE/POD",
		Short: "Explain why a pod is pending, or why it is on its node",
		Long: `Explain asks a running scheduler about its last attempt to schedule a pod: which
plugins rejected which nodes and why, the scores of the best nodes, and what each
plugin did. The scheduler remembers the last 4,096 attempts. For any other pod of the
cluster it prints the pod's scheduler, its node, and its age.

With --change it also asks, as berth whatif does, whether the pod would fit now. If not, it
looks for a single change with which the pod would fit: one more toleration, one node
selector less, a lower request, or a label of a node.

Only the leader can answer. If no scheduler runs on this machine, explain finds the
leader by its Lease and asks it through the API server.`,
		Example: `  berth explain team-a/web-0
  berth explain team-a/web-0 --kubeconfig ~/.kube/config --context prod
  berth explain team-a/web-0 --server https://10.0.0.1:10259 --token-file token`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("explain takes one argument, NAMESPACE/POD")
			}
			return nil
		},
		PreRunE: o.settle,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseExplain(args[0])
			if err != nil {
				return err
			}
			path := debughttp.ExplainPath + name.Namespace + "/" + name.Name
			if change {
				path = debughttp.WithChange(path)
			}
			body, err := o.get(cmd.Context(), path)
			if err != nil {
				return err
			}
			if o.output == "json" {
				_, err = cmd.OutOrStdout().Write(plain.JSON(body))
				return err
			}
			var pod debughttp.Pod
			if err := readAnswer(cmd.Context(), body, &pod); err != nil {
				return err
			}
			p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
			p.live(&pod, time.Now())
			if change {
				p.now(&pod)
			}
			return p.err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&change, "change", false, "look for a single change with which a pending pod would fit")
	o.flags(f)
	return cmd
}

// works prints what each plugin did, the slowest first.
func (p *printer) works(works []debughttp.Work) {
	if len(works) == 0 {
		return
	}
	works = slices.Clone(works)
	slices.SortStableFunc(works, func(a, b debughttp.Work) int { return cmp.Compare(b.Duration, a.Duration) })
	columns := []column{{head: "PLUGIN"}, {head: "POINT"}, {head: "CALLS", numbers: true}, {head: "ROWS", numbers: true}, {head: "REUSED", numbers: true}, {head: "FAULTS", numbers: true}, {head: "TIME", numbers: true}}
	modules := slices.ContainsFunc(works, func(w debughttp.Work) bool { return w.Digest != "" })
	if modules {
		columns = append(columns, column{head: "MODULE"}, column{head: "DIGEST"})
	}
	rows := make([]table.Row, 0, len(works))
	for _, w := range works {
		row := table.Row{w.Plugin, w.Point, w.Calls, w.Rows, w.Reused, w.Faults, seconds(w.Duration.Seconds())}
		if modules {
			row = append(row, w.Module, short(w.Digest))
		}
		rows = append(rows, row)
	}
	p.table(columns, rows)
}
