package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/oci"
)

// TestIndexGoesOn: a listed repository that never answers, one with thousands of tags, and one that has the plugin of another
// repository stay as they were listed, with a few warnings each. Others get their new versions.
func TestIndexGoesOn(t *testing.T) {
	const tags = 3000
	s := newStall(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v2/hangs/"):
			<-r.Context().Done()
		case r.URL.Path == "/v2/flood/plugin/tags/list":
			var names []string
			for i := range tags {
				names = append(names, fmt.Sprint("1.0.", i))
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "flood/plugin", "tags": names}) // the client may be gone
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	stranger := strings.TrimPrefix(server.URL, "http://")
	honest := s.honest.Plugins[0]
	from, err := oci.ParseReference(honest.Repository + "@" + honest.Versions[0].Image)
	if err != nil {
		t.Fatal(err)
	}
	to, err := oci.ParseReference(s.registry + "/team/thief:" + honest.Versions[0].Version)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oci.New(oci.Config{}).Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	before := honest
	before.Versions = honest.Versions[:1]
	listed := &index.File{Plugins: []index.Plugin{before}}
	for name, repository := range map[string]string{
		"a-hangs": stranger + "/hangs/plugin", "b-flood": stranger + "/flood/plugin", "c-thief": s.registry + "/team/thief",
	} {
		other := honest
		other.Name, other.Repository = name, repository
		listed.Plugins = append(listed.Plugins, other)
	}
	file, _, err := index.Next(&index.File{}, listed.Plugins, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	l := &listing{client: oci.New(oci.Config{}), before: file, tell: func(text string) { told = append(told, text) }}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next, err := l.next(ctx, nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(next.Find(honest.Name).Versions); len(next.Plugins) != 4 || n != 2 {
		t.Errorf("%d plugins, and %d versions of the honest one", len(next.Plugins), n)
	}
	stays := 0
	for _, text := range told {
		if strings.Contains(text, " stays as it was listed: ") {
			stays++
		}
	}
	if stays != 3 || len(told) > 3+mostTold+1 {
		t.Errorf("told %d times: %.2000q", len(told), told)
	}
	if _, err := l.next(ctx, []string{s.registry + "/team/thief"}, time.Hour); err == nil || !strings.Contains(err.Error(), "an index has each name once") {
		t.Errorf("a repository that is named cannot be listed: %v", err)
	}
}
