package debughttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// TestOfPod: only a plain question about one pod is about a pod, however its path is written.
func TestOfPod(t *testing.T) {
	for _, c := range []struct{ method, url, pod string }{
		{"GET", "/debug/berth/explain/team-a/web-0", "team-a/web-0"},
		{"GET", "/debug/berth/explain/team-a/web.0", "team-a/web.0"},
		{"GET", "/debug/berth/explain/team-a/web-0?change", ""},
		{"POST", "/debug/berth/explain/team-a/web-0", ""},
		{"GET", "/debug/berth/explain/team-a/", ""},
		{"GET", "/debug/berth/explain/team-a", ""},
		{"GET", "/debug/berth/explain/team-a/web-0/", ""},
		{"GET", "/debug/berth/explain/team-a/..", ""},
		{"GET", "/debug/berth/explain/../explain/team-b/x", ""},
		{"GET", "/debug/berth/explain//team-a/x", ""},
		{"GET", "/debug/berth/explain/team-a%2Fweb-0/x", ""},
		{"GET", "/debug/berth/explain/team-a/x%2F..%2F..%2Fteam-b%2Fx", ""},
		{"GET", "/debug/berth/%65xplain/team-a/x", ""},
		{"GET", "/debug/berth/decisions/team-a/x", ""},
		{"GET", "/debug/berth/plugins", ""},
	} {
		pod, _, ok := debughttp.OfPod(httptest.NewRequest(c.method, c.url, nil))
		if ok != (c.pod != "") || ok && pod.String() != c.pod {
			t.Errorf("%s %s is about %q, %v", c.method, c.url, pod, ok)
		}
	}
}

// TestLimited: an answer for somebody who may only get the pod names no pods of other namespaces, and does not change the record.
func TestLimited(t *testing.T) {
	r := debughttp.NewRecorder(8, nil)
	a := attempt(1, "a", abi.Unschedulable, "")
	a.Nominated, a.Victims = "n1", []string{"ns/small", "other/secret", "ns2/secret"}
	r.Attempted(a, node)
	handler := debughttp.NewHandler(config(r))
	get := func(request *http.Request) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		return w.Body.String()
	}
	full := httptest.NewRequest(http.MethodGet, debughttp.ExplainPath+"ns/a", nil)
	_, limited, ok := debughttp.OfPod(full)
	if !ok {
		t.Fatal("it is about no pod")
	}
	text := get(limited)
	if !strings.Contains(text, `"ns/small"`) || strings.Contains(text, "secret") || !strings.Contains(text, `"nominated":"n1"`) {
		t.Errorf("limited: %s", text)
	}
	if text := get(full); strings.Count(text, "other/secret") != 2 || strings.Count(text, "ns2/secret") != 2 {
		t.Errorf("in full: %s", text)
	}
}
