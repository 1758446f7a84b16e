package feeds_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/feeds"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/state"
)

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

const head = "apiVersion: berth.dev/v1alpha1\nkind: Feeds\nfeeds:\n"

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string) []feeds.Feed {
	t.Helper()
	all, err := feeds.Load(t.Context(), file(t, "feeds.yaml", head+text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLoad: what is not given has a default, and each mistake is said with its place and what to do.
func TestLoad(t *testing.T) {
	all := load(t, "- {name: node.cpu.usage, source: {metricsAPI: {}}}\n- {name: power, unit: watts, step: 5, interval: 1m, source: {file: {path: p.json}}}\n")
	if f := all[0]; f.ID() != "node.cpu.usage:milli" || f.Step != (feeds.Step{Units: 100, Percent: 5}) || f.Interval.Duration != 30*time.Second || f.MaxAge.Duration != 3*time.Minute ||
		f.Settle.Duration != 30*time.Second {
		t.Errorf("%+v", f)
	}
	if f := all[1]; f.Step != (feeds.Step{Units: 5}) || f.Settle.Duration != time.Minute || !filepath.IsAbs(f.Source.File.Path) {
		t.Errorf("%+v", f)
	}
	for text, want := range map[string]string{
		"- {name: node.cpu.usage, sauce: 1}":                                                               `line 4: feeds[0].sauce`,
		"- {name: A, unit: x, source: {metricsAPI: {}}}":                                                   `feeds[0].name: "A" is not a DNS subdomain`,
		"- {name: node.cpu.usage, unit: cores, source: {metricsAPI: {}}}":                                  `feeds[0].unit: "cores" is not the unit of node.cpu.usage: write milli`,
		"- {name: a, source: {file: {path: x}}}":                                                           `feeds[0].unit: "" is not a unit`,
		"- {name: a, unit: x, source: {metricsAPI: {}}}":                                                   `feeds[0].source.metricsAPI: it has node.cpu.usage`,
		"- {name: a, unit: x, source: {}}":                                                                 `feeds[0].source: it has 0 sources`,
		"- {name: a, unit: x, interval: 1s, source: {file: {path: x}}}":                                    `feeds[0].interval: 1s is not between 5s and 1h0m0s`,
		"- {name: a, unit: x, step: 5%, source: {file: {path: x}}}":                                        `feeds[0].step: a percentage is of a node's capacity, and a feed in x by node has none: write a number`,
		"- {name: a, unit: milli, key: {nodeLabel: zone}, step: 5%, source: {file: {path: x}}}":            `and a feed in milli by zone has none`,
		"- {name: a, unit: milli, step: 0%, source: {file: {path: x}}}":                                    `step: "0%" is neither a whole number nor a percentage from 1% to 50%`,
		"- {name: a, unit: x, step: [], source: {file: {path: x}}}":                                        `step: [] is neither a whole number nor N%`,
		"- {name: a, unit: x, step: -1, source: {file: {path: x}}}":                                        `feeds[0].step: -1 is negative`,
		"- {name: a, unit: x, source: {prometheus: {url: 'ftp://x', query: up}}}":                          `feeds[0].source.prometheus.url: "ftp://x" is not a URL`,
		"- {name: a, unit: x, source: {prometheus: {url: 'http://x', query: up}}}":                         `feeds[0].source.prometheus.lag: lag or timeQuery is needed`,
		"- {name: a, unit: x, source: {prometheus: {url: 'http://u:p@x', lag: 1m}}}":                       `prometheus.query: it is missing`,
		"- {name: a, unit: x, source: {file: {path: x}}}\n- {name: a, unit: z, source: {file: {path: x}}}": `feeds[1].name: "a" is declared twice`,
	} {
		if _, err := feeds.Load(t.Context(), file(t, "feeds.yaml", head+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", text, err, want)
		}
	}
}

// TestPrometheus: a vector is taken over with its scale and lag, and everything else is an error that says what to do.
func TestPrometheus(t *testing.T) {
	answer, token := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		if r.URL.Path != "/base/api/v1/query" || r.FormValue("query") != "load" {
			t.Errorf("asked for %s %v", r.URL, r.Form)
		}
		if strings.HasPrefix(answer, "http") {
			http.Redirect(w, r, answer, http.StatusFound)
			return
		}
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	text := fmt.Sprintf("- {name: load, unit: milli, step: 1, source: {prometheus: {url: %s/base/, query: load, lag: 10m, scale: 1000, tokenFile: %s}}}\n", server.URL, file(t, "token", "secret\n"))
	ask := func(result string) ([]state.Feed, error) {
		answer = result
		return feeds.Once(t.Context(), feeds.Config{Feeds: load(t, text)}, start(), nil)
	}
	vector := func(series string) string {
		return `{"status": "success", "data": {"resultType": "vector", "result": [` + series + `]}}`
	}
	got, err := ask(vector(`{"metric": {"node": "a"}, "value": [1767225600.5, "0.25"]}, {"metric": {"node": "b"}, "value": [1767225600, "-1e3"]}`))
	want := state.Cell{Value: 250, State: abi.FeedFresh} // fresh, though its window is longer than the maximal age
	if err != nil || len(got) != 1 || got[0].Name != "load" || got[0].Since != start().Unix()-600-30 || got[0].Cells["a"] != want || got[0].Cells["b"].Value != -1_000_000 || token != "Bearer secret" {
		t.Errorf("%+v, %v, %s", got, err, token)
	}
	for result, want := range map[string]string{
		vector(`{"metric": {"node": "a"}, "value": [1, "NaN"]}`):                                                       `the series of "a": its value NaN is no number of 64 bits`,
		vector(`{"metric": {"node": "a"}, "value": [1, "1e300"]}`):                                                     `is no number of 64 bits`,
		vector(`{"metric": {"node": "a"}, "value": [-1, "1"]}`):                                                        `is not in seconds`,
		vector(`{"metric": {"node": "a"}, "value": [1]}`):                                                              `it has no time and value`,
		vector(`{"metric": {}, "value": [1, "1"]}`):                                                                    `a series has no label node, which must have the key: aggregate by (node)`,
		vector(`{"metric": {"node": "a"}, "value": [1, "1"]}, {"metric": {"node": "a", "x": "y"}, "value": [1, "1"]}`): `two series have node="a"`,
		`{"status": "success", "data": {"resultType": "scalar", "result": []}}`:                                        `the query answers a "scalar", and a vector is needed`,
		`{"status": "error", "error": "parse error"}`:                                                                  `status 200: parse error`,
		`<html>`:              `the answer is not that of a query`,
		"http://127.0.0.1:1/": `status 302`, // no redirect is followed
		vector(strings.Repeat(`{"metric": {"node": "a"}, "value": [1, "1"]},`, 50_000) + `{}`): `50001 series, at most 50000 are allowed`,
	} {
		if _, err := ask(result); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", result, err, want)
		}
	}
}

// TestSharedQuery: feeds of one query, with the same times, share a request, each with its own scale.
func TestSharedQuery(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"node": "a"}, "value": [1767225600, "0.25"]}]}}`)
	}))
	defer server.Close()
	feed := func(name, rest, scale string) string {
		return fmt.Sprintf("- {name: %s, unit: x, %s source: {prometheus: {url: %s, query: load, lag: 10m, scale: %s}}}\n", name, rest, server.URL, scale)
	}
	text := feed("milli", "", "1000") + feed("micro", "key: {nodeLabel: zone},", "1e6") + feed("slow", "interval: 1m,", "4")
	got, err := feeds.Once(t.Context(), feeds.Config{Feeds: load(t, text)}, start(), nil)
	values := make(map[string]int64)
	for _, f := range got {
		values[f.Name] = f.Cells["a"].Value
	}
	if err != nil || asked.Load() != 2 || values["milli"] != 250 || values["micro"] != 250_000 || values["slow"] != 1 {
		t.Errorf("%v, %v; asked %d times, want 2: one for each interval", values, err, asked.Load())
	}
}

// TestTimeQuery: windows begin when the second query says, and a key of which it says nothing that can be is an error.
func TestTimeQuery(t *testing.T) {
	begin := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value := "7"
		if r.FormValue("query") == "begin" {
			value = begin
		}
		fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"node": "a"}, "value": [1767225600, %q]}]}}`, value)
	}))
	defer server.Close()
	all := load(t, fmt.Sprintf("- {name: load, unit: milli, source: {prometheus: {url: %s, query: load, timeQuery: begin}}}\n", server.URL))
	for text, want := range map[string]int64{"1767225000": 1767225000 - 30, "0": 0, "1e12": 0} {
		begin = text
		got, err := feeds.Once(t.Context(), feeds.Config{Feeds: all}, start(), nil)
		if ok := err == nil && got[0].Since == want; ok != (want > 0) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// TestForbidden: no connection is made to an address that no operator means.
func TestForbidden(t *testing.T) {
	all := load(t, "- {name: load, unit: milli, source: {prometheus: {url: 'http://169.254.169.254/', query: load, lag: 1m}}}\n")
	if _, err := feeds.Once(t.Context(), feeds.Config{Feeds: all}, start(), nil); err == nil || !strings.Contains(err.Error(), "a link-local or metadata address") {
		t.Error(err)
	}
}

// TestMetricsAPI: both well-known feeds share a fetch. A failure is said once, and so is its end; status has it meanwhile.
func TestMetricsAPI(t *testing.T) {
	var log bytes.Buffer
	var failure error
	asked := 0
	step := clock.NewStep(start())
	fs, err := feeds.New(feeds.Config{Feeds: load(t, "- {name: node.cpu.usage, source: {metricsAPI: {}}}\n- {name: node.memory.usage, step: 1, source: {metricsAPI: {}}}\n")}, feeds.Deps{
		Clock: step, Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: func(context.Context, int64) ([]byte, error) {
			asked++
			return []byte(`{"items": [{"metadata": {"name": "n"}, "timestamp": "2026-01-01T00:00:00Z", "window": "15s", "usage": {"cpu": "1234m", "memory": "3Ki"}}]}`), failure
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rounds := make(chan []state.Feed)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fs.Run(ctx, func(changed []state.Feed) { rounds <- changed })
	}()
	since := start().Unix() - 15 - 30
	got := <-rounds
	if len(got) != 2 || got[0].Cells["n"] != (state.Cell{Value: 1200, State: abi.FeedFresh}) || got[0].Since != since || got[1].Cells["n"].Value != 3072 || asked != 1 {
		t.Errorf("%+v, asked %d times", got, asked)
	}
	next := func() []state.Feed {
		step.Advance(30 * time.Second)
		return <-rounds
	}
	failure = fmt.Errorf("forbidden: %s", strings.Repeat("x", 10_000))
	for range 2 {
		if got := next(); len(got) > 0 {
			t.Errorf("a failure changed %+v", got)
		}
	}
	if s := fs.Status(); len(s) != 2 || s[1].Feed != "node.memory.usage:bytes" || s[1].Keys != 1 || s[1].Err == nil || len(s[1].Err.Error()) > 1000 || fs.Failing() == nil {
		t.Errorf("%+v", s)
	}
	failure = nil
	next()
	cancel()
	<-ended
	if fs.Failing() != nil || strings.Count(log.String(), "a feed fails") != 1 || strings.Count(log.String(), "a feed works again") != 1 {
		t.Errorf("%v\n%s", fs.Failing(), log.String())
	}
}
