package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestRecordingFails: events and metrics tell of a recording that stops and goes on.
func TestRecordingFails(t *testing.T) {
	w := newWatched(&program{version: "v1"})
	for _, err := range []error{nil, errors.New("no space left on device"), nil} {
		w.Recording(err)
		parts := w.optional.parts()
		failed := err != nil
		if len(parts) != 1 || parts[0].Failed != failed || failed && !strings.Contains(parts[0].Failure.Note, err.Error()) ||
			failing(t, w, partRecording) != failed {
			t.Errorf("after %v: %+v", err, parts)
		}
	}
}

// failing returns what the metric says of a part.
func failing(t *testing.T, w *watched, part string) bool {
	t.Helper()
	response := httptest.NewRecorder()
	w.metrics.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	series := fmt.Sprintf("berth_part_failing{part=%q} ", part)
	_, value, found := strings.Cut(response.Body.String(), series)
	if !found {
		t.Errorf("there is no metric of %s", part)
	}
	return strings.HasPrefix(value, "1")
}

func folder(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
