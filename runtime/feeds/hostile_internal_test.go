package feeds

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/state"
)

// hostile is a Prometheus that answers as the test says, and the rounds of a feed that asks it.
type hostile struct {
	t      *testing.T
	clock  *clock.Step
	answer http.HandlerFunc
	feeds  *Feeds
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{t: t, clock: clock.NewStep(start())}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.answer(w, r) }))
	f := Feed{Name: "load", Unit: "x", Source: Source{Prometheus: &Prometheus{URL: server.URL, Query: "load", Lag: metav1.Duration{Duration: time.Minute}}}}
	f.defaults("")
	fs, err := New(Config{Feeds: []Feed{f}}, Deps{Clock: h.clock})
	if err != nil {
		t.Fatal(err)
	}
	h.feeds = fs
	t.Cleanup(server.Close)
	return h
}

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// series answers with one value for each key.
func series(at time.Time, values map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var all []string
		for key, value := range values {
			all = append(all, fmt.Sprintf(`{"metric": {"node": %q}, "value": [%d, %q]}`, key, at.Unix(), value))
		}
		fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "vector", "result": [%s]}}`, strings.Join(all, ","))
	}
}

// round has the feed ask once, later by so much, and returns the news.
func (h *hostile) round(later time.Duration, answer http.HandlerFunc) map[string]state.Cell {
	h.t.Helper()
	h.clock.Advance(later)
	h.answer = answer
	all := h.feeds.round(h.t.Context(), h.feeds.groups[0])
	if len(all) == 0 {
		return nil
	}
	return all[0].Cells
}

// TestHostileValues: what a number can be is taken over without an overflow, and what is none is an error that leaves the last values.
func TestHostileValues(t *testing.T) {
	for text, want := range map[string]int64{
		"9.2e18": 9_200_000_000_000_000_000, "-9.2e18": -9_200_000_000_000_000_000, "-0": 0, "5e-324": 0, "0x1p3": 8,
	} {
		h := newHostile(t)
		if got := h.round(0, series(start(), map[string]string{"a": text})); got["a"].Value != want || got["a"].State != abi.FeedFresh {
			t.Errorf("%s: %+v, %v", text, got, h.feeds.Failing())
		}
	}
	for _, text := range []string{"NaN", "+Inf", "-Inf", "9.3e18", "-9.3e18", "1e999", "", "1,5", "0x", strings.Repeat("9", 1<<20)} {
		h := newHostile(t)
		h.round(0, series(start(), map[string]string{"a": "7"}))
		got := h.round(30*time.Second, series(start(), map[string]string{"a": text}))
		if err := h.feeds.Failing(); len(got) > 0 || err == nil || len(err.Error()) > 700 {
			t.Errorf("%.20s: %+v, %.900v", text, got, err)
		}
	}
}

// TestHostileSeries: a series without a number, or without a time, is left out alone: its last value counts until it is stale, the
// others are taken over, and the log names it once.
func TestHostileSeries(t *testing.T) {
	for text, why := range map[string]string{
		"NaN": "its value NaN is no number of 64 bits", "-Inf": "its value -Inf is no number of 64 bits",
		"9.3e18": "its value 9.3e+18 is no number of 64 bits",
	} {
		h := newHostile(t)
		var log strings.Builder
		h.feeds.deps.Log = slog.New(slog.NewTextHandler(&log, nil))
		h.round(0, series(h.clock.Now(), map[string]string{"a": "7", "b": "7", "c": "7"}))
		for i := range 8 {
			got := h.round(30*time.Second, series(h.clock.Now().Add(30*time.Second), map[string]string{"a": "9", "b": text, "c": text}))
			b, want := h.feeds.groups[0].tables[0].whole("b"), abi.FeedFresh
			if i >= 6 { // after the maximal age
				want = abi.FeedStale
			}
			if b.Value != 7 || b.State != want || i == 0 && got["a"].Value != 9 {
				t.Errorf("%s, round %d: %+v, %+v", text, i, got, b)
			}
			if err := h.feeds.Failing(); err == nil || !strings.HasSuffix(err.Error(), `2 of 3 values are left out: the series of "b": `+why) {
				t.Errorf("%s, round %d: %v", text, i, err)
			}
		}
		all := map[string]string{"a": "9", "b": "9", "c": "9"}
		if got := h.round(30*time.Second, series(h.clock.Now().Add(30*time.Second), all)); got["b"].Value != 9 {
			t.Errorf("%s: %+v", text, got)
		}
		if err := h.feeds.Failing(); err != nil || strings.Count(log.String(), "a feed fails") != 1 ||
			strings.Count(log.String(), "works again") != 1 {
			t.Errorf("%s: %v\n%s", text, err, log.String())
		}
	}
}

// TestHostileTimes: a source that repeats an old sample is stale, and one from the future counts no pod as measured for longer than it is.
func TestHostileTimes(t *testing.T) {
	h := newHostile(t)
	h.round(0, series(start(), map[string]string{"a": "7"}))
	for i := range 6 {
		if got := h.round(30*time.Second, series(start(), map[string]string{"a": "7"})); len(got) > 0 {
			t.Errorf("repeated %d times: %+v", i+1, got)
		}
	}
	if got := h.round(time.Second, series(start(), map[string]string{"a": "7"})); got["a"].State != abi.FeedStale {
		t.Errorf("an old sample after the maximal age: %+v", got)
	}
	for _, at := range []time.Time{start().Add(24 * time.Hour), time.Unix(1<<39, 0)} {
		h := newHostile(t)
		h.round(0, series(at, map[string]string{"a": "7"}))
		if got := h.feeds.groups[0].tables[0].whole("a"); got.At != start().Unix() || got.Since != start().Add(-90*time.Second).Unix() {
			t.Errorf("a sample of %v: %+v, %v", at, got, h.feeds.Failing())
		}
	}
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(1<<40, 0)} {
		h := newHostile(t)
		if got := h.round(0, series(at, map[string]string{"a": "7"})); len(got) > 0 || h.feeds.Failing() == nil {
			t.Errorf("a sample of %v: %+v", at, got)
		}
	}
}

// TestHostileFlapping: a feed that fails every other round keeps its values, and changes none.
func TestHostileFlapping(t *testing.T) {
	h := newHostile(t)
	h.round(0, series(start(), map[string]string{"a": "7"}))
	for i := range 20 {
		answer := series(h.clock.Now().Add(30*time.Second), map[string]string{"a": "7"})
		if i%2 == 0 {
			answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
		}
		if got := h.round(30*time.Second, answer); len(got) > 0 || (h.feeds.Failing() != nil) != (i%2 == 0) {
			t.Fatalf("round %d: %+v, %v", i, got, h.feeds.Failing())
		}
	}
}

// TestHostileKeys: keys that are new in each round do not pile up, and the feed says so.
func TestHostileKeys(t *testing.T) {
	h := newHostile(t)
	flood := func(round int) http.HandlerFunc {
		values := make(map[string]string, 40_000)
		for i := range 40_000 {
			values[fmt.Sprintf("%d-%d", round, i)] = "1"
		}
		return series(h.clock.Now(), values)
	}
	h.round(0, flood(0))
	h.round(30*time.Second, flood(1))
	if err := h.feeds.Failing(); err != nil {
		t.Fatal(err)
	}
	got := h.round(30*time.Second, flood(2))
	if err := h.feeds.Failing(); len(got) > 0 || err == nil || !strings.Contains(err.Error(), "120000 keys within 6m0s, at most 100000 are allowed") {
		t.Errorf("%d cells, %v", len(got), err)
	}
	if s := h.feeds.Status(); s[0].Keys != 80_000 {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{"", strings.Repeat("k", 254), strings.Repeat("k", 1<<20)} {
		h := newHostile(t)
		h.round(0, series(start(), map[string]string{key: "1"}))
		if err := h.feeds.Failing(); err == nil || len(err.Error()) > 700 {
			t.Errorf("a key of %d bytes: %.900v", len(key), err)
		}
	}
}

// TestHostileServer: an endless body is cut off, and no redirect is followed, wherever it leads.
func TestHostileServer(t *testing.T) {
	h := newHostile(t)
	var written atomic.Int64
	h.round(0, func(w http.ResponseWriter, _ *http.Request) {
		chunk := strings.Repeat(" ", 1<<20)
		for {
			n, err := io.WriteString(w, chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	})
	if err := h.feeds.Failing(); err == nil {
		t.Errorf("an endless body is no error after %d bytes", written.Load())
	}
	for _, to := range []string{"http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "file:///etc/passwd", "/elsewhere"} {
		h.round(30*time.Second, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("a redirect was followed")
			}
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		})
		if err := h.feeds.Failing(); err == nil || !strings.Contains(err.Error(), "status 307") {
			t.Errorf("to %s: %v", to, err)
		}
	}
}
