package feeds

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/addresses"
	"github.com/berth-scheduler/berth/runtime/quantity"
)

// Limits of a round.
const (
	maxAnswer  = 64 << 20 // bytes
	maxSeries  = 50_000
	maxKeys    = 2 * maxSeries // of a feed, with those that are not forgotten yet
	maxKey     = 253           // bytes of the name of a node; values of labels are shorter
	maxFetch   = 20 * time.Second
	maxMessage = 512
)

// source returns the samples of feeds that share it, by the names of feeds and by keys. With an error it returns those that are good.
type source interface {
	fetch(ctx context.Context, now time.Time) (map[string]map[string]Sample, error)
}

// metricsAPI reads metrics.k8s.io.
type metricsAPI struct {
	get func(ctx context.Context, most int64) ([]byte, error)
}

// nodeMetrics is a NodeMetricsList of metrics.k8s.io.
type nodeMetrics struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Timestamp time.Time                    `json:"timestamp"`
		Window    string                       `json:"window"`
		Usage     map[string]resource.Quantity `json:"usage"`
	} `json:"items"`
}

func (m *metricsAPI) fetch(ctx context.Context, _ time.Time) (map[string]map[string]Sample, error) {
	text, err := m.get(ctx, maxAnswer)
	if err != nil {
		return nil, err
	}
	var list nodeMetrics
	if err := bounded.JSON(ctx, text, 8*maxAnswer, &list); err != nil {
		return nil, fmt.Errorf("the answer is no NodeMetricsList: %w", err)
	}
	cpu, memory := make(map[string]Sample), make(map[string]Sample)
	if len(list.Items) > maxSeries {
		return nil, tooMany(len(list.Items))
	}
	for _, n := range list.Items {
		window, err := time.ParseDuration(n.Window)
		if err != nil || n.Timestamp.IsZero() || len(n.Metadata.Name) > maxKey {
			return nil, fmt.Errorf("the metrics of node %s have no time and window: %q",
				plain.Quote(n.Metadata.Name, maxKey), plain.Line(n.Window, 64))
		}
		begin := n.Timestamp.Add(-window)
		if q, ok := n.Usage[string(v1.ResourceCPU)]; ok {
			cpu[n.Metadata.Name] = Sample{quantity.Milli(q), begin, n.Timestamp}
		}
		if q, ok := n.Usage[string(v1.ResourceMemory)]; ok {
			memory[n.Metadata.Name] = Sample{quantity.Whole(q), begin, n.Timestamp}
		}
	}
	return map[string]map[string]Sample{CPU: cpu, Memory: memory}, nil
}

func tooMany(n int) error { return fmt.Errorf("%d series, at most %d are allowed", n, maxSeries) }

// fileSource reads a file.
type fileSource struct {
	feed *Feed
	path string
}

func (f *fileSource) fetch(ctx context.Context, now time.Time) (map[string]map[string]Sample, error) {
	text, err := bounded.File(ctx, f.path, maxAnswer)
	if err != nil {
		return nil, err
	}
	var values map[string]int64
	if err := bounded.JSON(ctx, text, 8*maxAnswer, &values); err != nil {
		return nil, fmt.Errorf("%s is no JSON object with whole numbers by key: %w", f.path, err)
	}
	if len(values) > maxSeries {
		return nil, tooMany(len(values))
	}
	out := make(map[string]Sample, len(values))
	for key, value := range values {
		out[key] = Sample{value, now, now}
	}
	return map[string]map[string]Sample{f.feed.Name: out}, nil
}

// model computes what nodes use.
type model struct {
	feed  *Feed
	usage func(resource v1.ResourceName) map[string]int64
}

func (m *model) fetch(_ context.Context, now time.Time) (map[string]map[string]Sample, error) {
	resource := v1.ResourceCPU
	if m.feed.Unit == unitBytes {
		resource = v1.ResourceMemory
	}
	out := make(map[string]Sample)
	for node, requested := range m.usage(resource) {
		out[node] = Sample{quantity.Portion(m.feed.Source.Model.Percent, requested, 100), now, now}
	}
	return map[string]map[string]Sample{m.feed.Name: out}, nil
}

// prometheus asks a server. Feeds of the same query share it, each with its own scale.
type prometheus struct {
	feeds  []*Feed
	spec   Prometheus // without a scale
	client *http.Client
}

// newPrometheus returns the source of a query. It connects to no address that an operator cannot mean, and follows no redirect.
func newPrometheus(p Prometheus) (*prometheus, error) {
	t := &http.Transport{MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 2, IdleConnTimeout: 5 * time.Minute, ForceAttemptHTTP2: true}
	ranges := addresses.NewRanges()
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && ranges.Never(at.Addr()) {
			return fmt.Errorf("%s is a link-local or metadata address, which no Prometheus has", at.Addr())
		}
		return err
	}}
	t.DialContext = dialer.DialContext
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if p.CAFile != "" {
		text, err := bounded.File(context.Background(), p.CAFile, maxFile)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", p.CAFile)
		}
	}
	if p.CertFile != "" {
		certificate := func() (*tls.Certificate, error) {
			c, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
			return &c, err
		}
		if _, err := certificate(); err != nil {
			return nil, err
		}
		t.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate() }
	}
	return &prometheus{spec: p, client: &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// answer is that of an instant query.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric map[string]string `json:"metric"`
			Value  []json.RawMessage `json:"value"`
		} `json:"result"`
	} `json:"data"`
}

func (p *prometheus) fetch(ctx context.Context, now time.Time) (map[string]map[string]Sample, error) {
	series, err := p.vector(ctx, now, p.spec.Query)
	if err != nil {
		return nil, err
	}
	var begins map[string]reading
	if p.spec.TimeQuery != "" {
		if begins, err = p.vector(ctx, now, p.spec.TimeQuery); err != nil {
			return nil, fmt.Errorf("timeQuery: %w", err)
		}
	}
	out := make(map[string]map[string]Sample, len(p.feeds))
	bad := leftOut{what: "the series of", of: len(series) * len(p.feeds)}
	for _, f := range p.feeds {
		samples := make(map[string]Sample, len(series))
		for key, r := range series {
			value, err := whole(float64(r.value * f.Source.Prometheus.Scale))
			begin := r.end.Add(-p.spec.Lag.Duration)
			if begins != nil {
				at, ok := begins[key]
				seconds, wrong := whole(at.value)
				if past := seconds > 0 && seconds <= now.Unix()+60; err == nil && (!ok || wrong != nil || !past) { // clocks differ a little
					err = errors.New("timeQuery has no time for it in seconds since 1970 that is past")
				}
				begin = time.Unix(int64(at.value), 0)
			}
			if err != nil {
				bad.add(key, err)
				continue
			}
			samples[key] = Sample{value, begin, r.end}
		}
		out[f.Name] = samples
	}
	return out, bad.err()
}

// leftOut is the values of a round that are no sample, by the first of their keys. A division by 0 for one node is none of the others'.
type leftOut struct {
	what  string // has the value of a key
	n, of int
	key   string
	first error
}

func (l *leftOut) add(key string, err error) {
	if l.n++; l.n == 1 || key < l.key {
		l.key, l.first = key, err
	}
}

func (l *leftOut) err() error {
	if l.n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d values are left out: %s %s: %w", l.n, l.of, l.what, plain.Quote(l.key, maxKey), l.first)
}

// reading is the value of a series, and for when it was evaluated.
type reading struct {
	value float64
	end   time.Time
}

// whole rounds a number to one of 64 bits.
func whole(value float64) (int64, error) {
	if math.IsNaN(value) || math.IsInf(value, 0) || math.Abs(value) >= 1<<63 {
		return 0, fmt.Errorf("its value %v is no number of 64 bits", value)
	}
	return int64(math.Round(value)), nil
}

// vector returns what a query answers, by key.
func (p *prometheus) vector(ctx context.Context, now time.Time, query string) (map[string]reading, error) {
	text, code, err := p.ask(ctx, now, query)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := bounded.JSON(ctx, text, 8*maxAnswer, &a); err != nil {
		return nil, fmt.Errorf("status %d, and the answer is not that of a query: %s", code, plain.Line(err.Error(), maxMessage))
	}
	switch {
	case a.Status != "success":
		return nil, fmt.Errorf("status %d: %s", code, plain.Line(a.Error, maxMessage))
	case a.Data.ResultType != "vector":
		return nil, fmt.Errorf("the query answers a %s, and a vector is needed: write an instant query with a series for each key",
			plain.Quote(a.Data.ResultType, 32))
	case len(a.Data.Result) > maxSeries:
		return nil, tooMany(len(a.Data.Result))
	}
	out := make(map[string]reading, len(a.Data.Result))
	for _, s := range a.Data.Result {
		key := s.Metric[p.spec.Label]
		if key == "" || len(key) > maxKey {
			return nil, fmt.Errorf("a series has no label %s, which must have the key: aggregate by (%s)", p.spec.Label, p.spec.Label)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("two series have %s=%s: aggregate by (%s)", p.spec.Label, plain.Quote(key, maxKey), p.spec.Label)
		}
		r, err := read(s.Value)
		if err != nil {
			return nil, fmt.Errorf("the series of %s: %w", plain.Quote(key, maxKey), err)
		}
		out[key] = r
	}
	return out, nil
}

// ask sends a query.
func (p *prometheus) ask(ctx context.Context, now time.Time, query string) (text []byte, code int, err error) {
	at := strings.TrimSuffix(p.spec.URL, "/") + "/api/v1/query"
	form := url.Values{"query": {query}, "time": {strconv.FormatInt(now.Unix(), 10)}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.spec.TokenFile != "" {
		token, err := bounded.File(ctx, p.spec.TokenFile, 64<<10)
		if err != nil {
			return nil, 0, err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := p.client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err = bounded.All(response.Body, maxAnswer)
	return text, response.StatusCode, err
}

// read reads a pair of a time in seconds and a number as text.
func read(pair []json.RawMessage) (reading, error) {
	if len(pair) != 2 {
		return reading{}, errors.New("it has no time and value")
	}
	var text string
	seconds, err := strconv.ParseFloat(string(pair[0]), 64)
	if err == nil {
		err = json.Unmarshal(pair[1], &text)
	}
	value := 0.0
	if err == nil {
		value, err = strconv.ParseFloat(text, 64)
	}
	switch {
	case err != nil:
		return reading{}, errors.New("its time or value is no number")
	case !(seconds > 0 && seconds < 1<<40):
		return reading{}, fmt.Errorf("its time %s is not in seconds since 1970", plain.Quote(string(pair[0]), 64))
	}
	return reading{value, time.Unix(int64(seconds), 0)}, nil
}
