package debughttp_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// TestLevel: a PUT sets the level, an invalid value does not change it, and without WithLevel
// the path is not served.
func TestLevel(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))
	bare := debughttp.NewHandler(config(debughttp.NewRecorder(0, nil)))
	handler := debughttp.WithLevel(bare, level, log)
	ask := func(h http.Handler, method, text string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, debughttp.LevelPath, strings.NewReader(text)))
		return w
	}
	for _, c := range []struct {
		put    string
		status int
		now    string // level
	}{
		{"debug", 200, "debug"},
		{"WARN\n", 200, "warn"},
		{"loud", 400, "warn"},
		{"", 400, "warn"},
		{strings.Repeat(" ", 100) + "info", 400, "warn"},
		{"none", 200, "none"},
		{"4", 200, "debug"},
		{"-1", 400, "debug"},
		{"3", 200, "info"},
		{"error", 200, "error"},
	} {
		if w := ask(handler, http.MethodPut, c.put); w.Code != c.status || c.status == 200 && w.Body.String() != c.now+"\n" {
			t.Errorf("%q: %d %s", c.put, w.Code, w.Body)
		}
		if w := ask(handler, http.MethodGet, ""); w.Body.String() != c.now+"\n" {
			t.Errorf("after %q: %s, want %s", c.put, w.Body, c.now)
		}
		out.Reset()
		log.Error("seen")
		if (out.Len() > 0) != (c.now != "none") {
			t.Errorf("at level %s an error gives %q", c.now, &out)
		}
	}
	if w := ask(handler, http.MethodPost, "debug"); w.Code != http.StatusNotFound || level.Level() != slog.LevelError {
		t.Errorf("POST: %d", w.Code)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		if w := ask(bare, method, "debug"); w.Code != http.StatusNotFound || level.Level() != slog.LevelError {
			t.Errorf("%s without WithLevel: %d, level %v", method, w.Code, level.Level())
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Body.String() != "metrics" {
		t.Errorf("/metrics: %s", w.Body)
	}
}
