package attack

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
)

// TestResult: all attempts since the leg began count, but for the first ones for attacked pods that were tried.
func TestResult(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pods := map[string]*debughttp.Explanation{attacked(0) + "/tried": {Attempt: &report.Attempt{Try: 3}}}
	created := make(map[string]time.Time)
	for i := range 100 {
		name := fmt.Sprint("calm-", i)
		created[name] = start.Add(time.Duration(i) * time.Second)
		pods[calm+"/"+name] = &debughttp.Explanation{
			Attempt: &report.Attempt{}, Duration: time.Duration(i) * time.Millisecond, At: created[name].Add(time.Duration(2*i) * time.Millisecond),
		}
	}
	r := &attempts{socket: filepath.Join(t.TempDir(), "s")}
	listener, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var answer any = debughttp.Overview{Decisions: 1151}
		if name, ok := strings.CutPrefix(q.URL.Path, debughttp.ExplainPath); ok {
			answer = debughttp.Pod{Last: pods[name]}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	got, err := r.result(1000, created, []string{attacked(0) + "/tried", attacked(0) + "/new"})
	if want := (leg{p99: 99 * time.Millisecond, wait: 198 * time.Millisecond, each: 1.5}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
