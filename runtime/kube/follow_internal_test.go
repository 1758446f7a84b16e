package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/internal/eventually"
)

// things is an API server that has one resource, things.example.com/v1.
type things struct {
	mu      sync.Mutex
	status  int            // of every answer but the schema's; 0 for what there is
	objects map[string]int // sizes by name
	version int
	streams bool // lists by a watch
	changed chan struct{}
	lists   int
}

func (s *things) object(name string) string {
	return fmt.Sprintf(`{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": %q, "resourceVersion": "%d"},
		"spec": {"size": %d, "junk": %q}}`,
		name, s.version, s.objects[name], strings.Repeat("x", 1000))
}

// set changes the objects, and ends all watches, after which clients list again.
func (s *things) set(status int, objects map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.objects = status, objects
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

const thingSchema = `{"openapi": "3.0.0", "info": {"title": "x", "version": "v1"},
"paths": {"/apis/example.com/v1/things/{name}": {"get": {"responses": {"200": {"description": "OK",
  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}}},
"components": {"schemas": {"Thing": {"type": "object", "properties": {
  "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}}`

func (s *things) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/openapi/v3":
		_, _ = w.Write([]byte(`{"paths": {"apis/example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=1"}}}`))
		return
	case "/openapi/v3/apis/example.com/v1":
		_, _ = w.Write([]byte(thingSchema))
		return
	}
	s.mu.Lock()
	status, changed, version, streams := s.status, s.changed, s.version, s.streams
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		all = append(all, s.object(name))
	}
	s.lists++
	s.mu.Unlock()
	watch, initial := r.URL.Query().Get("watch") != "", r.URL.Query().Get("sendInitialEvents") == "true"
	switch {
	case status != 0:
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d, "message": "no"}`,
			map[int]string{403: "Forbidden", 404: "NotFound", 500: "InternalError"}[status], status)
	case watch && initial && !streams:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422,
			"message": "sendInitialEvents is forbidden"}`))
	case watch:
		if initial {
			for _, object := range all {
				_, _ = fmt.Fprintf(w, `{"type": "ADDED", "object": %s}`, object)
			}
			_, _ = fmt.Fprintf(w, `{"type": "BOOKMARK", "object": {"apiVersion": "example.com/v1", "kind": "Thing",
				"metadata": {"resourceVersion": "%d", "annotations": {"k8s.io/initial-events-end": "true"}}}}`, version)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
	default:
		_, _ = fmt.Fprintf(w, `{"apiVersion": "example.com/v1", "kind": "ThingList", "metadata": {"resourceVersion": "%d"}, "items": [%s]}`,
			version, strings.Join(all, ","))
	}
}

// follow follows the sizes of things at a path, and returns what it says of them.
func follow(t *testing.T, s *things, path string) (values func() string) {
	t.Helper()
	s.changed = make(chan struct{})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	clients, err := (&Connection{Master: server.URL}).Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := fieldpath.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	resource := fieldpath.Resource{Plural: "things", Group: "example.com", Version: "v1"}
	followed := clients.Follow(resource, "", "", []fieldpath.Path{p}, func(object map[string]any) any {
		value, _ := p.Value(object)
		return value
	})
	followed.pauses.Duration, followed.pauses.Cap = time.Millisecond, 10*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		followed.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		<-ended
	})
	return func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		all, err := followed.Values(ctx)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, value := range all {
			text, _ := json.Marshal(value)
			out = append(out, string(text))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
}

// TestFollow: objects come, change and go, whether the API server streams lists or not; a resource that is not there, or may not be read,
// says so, and is followed once it is there.
func TestFollow(t *testing.T) {
	for _, streams := range []bool{false, true} {
		s := &things{status: http.StatusNotFound, streams: streams}
		values := follow(t, s, ".spec.size")
		for _, step := range []struct {
			status  int
			objects map[string]int
			want    string
		}{
			{404, nil, "the API server has no things.example.com/v1: install what brings it"},
			{0, map[string]int{"a": 1, "b": 2}, "1 2"},
			{0, map[string]int{"b": 5, "c": 3}, "3 5"},
			{403, nil, "the scheduler needs list and watch on things.example.com/v1"},
			{0, nil, ""},
			{404, nil, "the API server has no things.example.com/v1"},
			{0, map[string]int{"a": 7}, "7"},
		} {
			s.set(step.status, step.objects)
			eventually.Succeeds(t, func() error {
				if got := values(); got != step.want && (step.want == "" || !strings.Contains(got, step.want)) {
					return fmt.Errorf("streams %v, status %d, objects %v: got %q, want %q", streams, step.status, step.objects, got, step.want)
				}
				return nil
			})
		}
	}
}

// TestFollowUnknownField: a path that no object can have is told with the nearest field.
func TestFollowUnknownField(t *testing.T) {
	values := follow(t, &things{objects: map[string]int{"a": 1}}, ".spec.sise")
	eventually.Succeeds(t, func() error {
		if got := values(); !strings.Contains(got, `there is no such field: did you mean "size"?`) {
			return fmt.Errorf("got %q", got)
		}
		return nil
	})
}
