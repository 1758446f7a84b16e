package debughttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/console"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
)

func always[T any](value T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return value, nil }
}

func consoleConfig(r *debughttp.Recorder) debughttp.Config {
	c := config(r)
	c.FailedWrite = func(pod types.NamespacedName) *report.FailedWrite {
		if pod.Name != "b" {
			return nil
		}
		return &report.FailedWrite{Verb: "create", Kind: "pods/binding", Since: time.Unix(1000, 0).UTC(), Tries: 3, Error: "no"}
	}
	c.Trials = func() any { return []string{} }
	c.Source = debughttp.Source{
		About: debughttp.About{Version: "v1"}, Now: func() time.Time { return time.Unix(2000, 0).UTC() },
		Places: always(map[string]int{"gated": 1, "binding": 2}), Problems: func() []string { return []string{"create pods/binding fails"} },
		Nodes: always([]debughttp.Node{{Name: "n1"}}), Work: always([]debughttp.Work{{Plugin: "Fit", Calls: 7}}),
		Queue: func(context.Context) ([]debughttp.Queued, error) {
			return []debughttp.Queued{
				{Namespace: "ns", Name: "a", UID: "a", Place: "unschedulable"}, {Namespace: "ns", Name: "b", UID: "a later one", Place: "active"},
				{Namespace: "ns", Name: "c", UID: "c", Place: "gated", Reason: "held"},
			}, nil
		},
	}
	return c
}

func get(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w
}

// TestConsole: what the console asks is answered, with the pages and without the rest of the debug port. Nothing
// but GET is accepted.
func TestConsole(t *testing.T) {
	r := debughttp.NewRecorder(4, func() time.Time { return time.Unix(1000, 0).UTC() })
	for i, pod := range []string{"b", "a", "a"} {
		a := attempt(uint64(i+1), pod, abi.Unschedulable, "")
		a.Message = fmt.Sprintf("no room, %d", i+1)
		r.Attempted(a, node)
	}
	for name, h := range map[string]http.Handler{"port": debughttp.NewHandler(consoleConfig(r)), "alone": debughttp.NewConsole(consoleConfig(r))} {
		for path, want := range map[string]string{
			console.Path:                         "<title>Berth</title>",
			console.Path + "main.js":             "import",
			debughttp.OverviewPath:               `{"version":"v1","now":"1970-01-01T00:33:20Z","profiles":["p","q"],"places":{"binding":2,"gated":1},"problems":["create pods/binding fails"],"decisions":3}`,
			debughttp.QueuePath:                  `{"total":3,"pods":[{"namespace":"ns","name":"a","profile":"","priority":0,"place":"unschedulable","attempts":0,"reason":"no room, 3"},`,
			debughttp.NodesPath:                  `[{"name":"n1",`,
			debughttp.WorkPath:                   `[{"plugin":"Fit","point":"","calls":7,"duration":0}]`,
			debughttp.DecisionsPath:              `[{"sequence":3,"namespace":"ns","pod":"a","profile":"p","try":1,"at":"1970-01-01T00:16:40Z"`,
			debughttp.DecisionsPath + "/2":       `"message":"no room, 2"`,
			debughttp.TrialsPath:                 `[]`,
			debughttp.PluginsPath:                `{"plugins":[{`,
			debughttp.ExplainPath + "ns/a":       `"history":[{"sequence":3,`,
			debughttp.ExplainPath + "ns/b":       `"failedWrite":{"verb":"create","kind":"pods/binding","since":"1970-01-01T00:16:40Z","tries":3,"error":"no"},"binding":2,`,
			debughttp.QueuePath + "?x=<script>a": `"reason":"held"`,
		} {
			w := get(t, h, http.MethodGet, path)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) || w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s, %s: %d %v %s", name, path, w.Code, w.Header(), w.Body)
			}
			if page := strings.HasPrefix(path, console.Path); page != (w.Header().Get("Content-Security-Policy") == console.Policy) {
				t.Errorf("%s, %s: %v", name, path, w.Header())
			}
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
				if w := get(t, h, method, path); w.Code != http.StatusMethodNotAllowed {
					t.Errorf("%s: %s %s: %d", name, method, path, w.Code)
				}
			}
		}
		if w := get(t, h, http.MethodGet, debughttp.QueuePath); strings.Contains(w.Body.String(), "no room, 1") {
			t.Errorf("%s: a reason is of an earlier pod of that name: %s", name, w.Body)
		}
		for path, code := range map[string]int{"/9": http.StatusNotFound, "/x": http.StatusBadRequest} {
			if w := get(t, h, http.MethodGet, debughttp.DecisionsPath+path); w.Code != code {
				t.Errorf("%s, decision %s: %d %s", name, path, w.Code, w.Body)
			}
		}
		if alone := get(t, h, http.MethodGet, "/metrics").Code == http.StatusNotFound; alone != (name == "alone") {
			t.Errorf("%s has metrics: %v", name, !alone)
		}
	}
	c := consoleConfig(r)
	c.Source.Nodes = func(context.Context) ([]debughttp.Node, error) { return nil, errors.New("stuck") }
	if w := get(t, debughttp.NewConsole(c), http.MethodGet, debughttp.NodesPath); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "stuck") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	c.Leader = func() (string, bool) { return "host_other", false }
	if w := get(t, debughttp.NewConsole(c), http.MethodGet, debughttp.OverviewPath); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "ask host_other") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRecent: the last attempts come first, however often the ring has gone round.
func TestRecent(t *testing.T) {
	r := debughttp.NewRecorder(3, nil)
	all := func(*debughttp.Explanation) bool { return true }
	for n := range uint64(8) {
		got := r.Recent(2, all)
		for i, d := range got {
			if d.Sequence != n-uint64(i) {
				t.Errorf("after %d: %+v", n, got)
			}
		}
		if want := min(n, 2); uint64(len(got)) != want {
			t.Errorf("after %d: %d", n, len(got))
		}
		_, kept := r.Attempt(n)
		_, gone := r.Attempt(n - 3)
		if kept != (n > 0) || gone {
			t.Errorf("after %d: %v, %v", n, kept, gone)
		}
		r.Attempted(attempt(n+1, "a", abi.Unschedulable, ""), node)
	}
	text, err := json.Marshal(debughttp.NewRecorder(3, nil).Recent(2, all))
	if err != nil || string(text) != "[]" {
		t.Errorf("%s, %v", text, err)
	}
}
