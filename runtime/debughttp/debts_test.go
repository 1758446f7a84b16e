package debughttp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// TestDebts: the debts are listed and forgiven by the leader only, and not without WithDebts.
func TestDebts(t *testing.T) {
	list, leads := []debughttp.Debt{{Owner: "team", For: "team/p", Since: time.Unix(0, 0).UTC(), Until: time.Unix(300, 0).UTC()}}, true
	bare := debughttp.NewHandler(config(debughttp.NewRecorder(0, nil)))
	handler := debughttp.WithDebts(bare, debughttp.Debts{
		List: func(context.Context) ([]debughttp.Debt, error) { return list, nil },
		Forgive: func(_ context.Context, owner string) (bool, error) {
			owed := len(list) > 0 && list[0].Owner == owner
			if owed {
				list = nil
			}
			return owed, nil
		},
		Leader: func() (string, bool) { return "another", leads },
	}, slog.New(slog.DiscardHandler))
	const all = `[{"owner":"team","for":"team/p","since":"1970-01-01T00:00:00Z","until":"1970-01-01T00:05:00Z"}]`
	for _, c := range []struct {
		handler      http.Handler
		leads        bool
		method, body string
		status       int
		want         string
	}{
		{bare, true, http.MethodGet, "", 404, "404 page not found"},
		{bare, true, http.MethodPost, "team", 404, "404 page not found"},
		{handler, false, http.MethodGet, "", 503, "this replica is not the leader: ask another"},
		{handler, false, http.MethodPost, "team", 503, "this replica is not the leader: ask another"},
		{handler, true, http.MethodGet, "", 200, all},
		{handler, true, http.MethodPost, "other", 404, "no debt of other is open"},
		{handler, true, http.MethodPost, strings.Repeat("x", 2000), 400, "it is larger than 1 KiB"},
		{handler, true, http.MethodPost, "team\n", 200, "[]"},
		{handler, true, http.MethodPost, "team", 404, "no debt of team is open"},
	} {
		leads = c.leads
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequest(c.method, debughttp.DebtsPath, strings.NewReader(c.body)))
		if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.want {
			t.Errorf("%s %.10q: %d %s, want %d %s", c.method, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
}
