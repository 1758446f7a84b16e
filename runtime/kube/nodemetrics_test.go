package kube_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestNodeMetrics: v1 is read, or else v1beta1. An error says what to do about it, and an answer that is too large is none.
func TestNodeMetrics(t *testing.T) {
	const v1, v1beta1 = "/apis/metrics.k8s.io/v1/nodes", "/apis/metrics.k8s.io/v1beta1/nodes"
	for name, test := range map[string]struct {
		served map[string]int // status by path; 404 for others
		want   string         // path of the list, or a part of the error
	}{
		"both":              {map[string]int{v1: 200, v1beta1: 200}, v1},
		"the older one":     {map[string]int{v1beta1: 200}, v1beta1},
		"neither":           {nil, "install metrics-server"},
		"no permission":     {map[string]int{v1: 403, v1beta1: 200}, "install deploy/feeds"},
		"no right to older": {map[string]int{v1beta1: 403}, "install deploy/feeds"},
		"out of order":      {map[string]int{v1: 503, v1beta1: 200}, "unable to handle the request"},
		"too large":         {map[string]int{v1: 201}, "larger than"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch status := test.served[r.URL.Path]; status {
			case 0:
				http.NotFound(w, r)
			case http.StatusOK:
				_, _ = w.Write([]byte(r.URL.Path))
			case http.StatusCreated:
				_, _ = w.Write([]byte(strings.Repeat("x", 1000)))
			default:
				w.WriteHeader(status)
			}
		}))
		clients, err := (&kube.Connection{Master: server.URL}).Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := clients.NodeMetrics(t.Context(), 100)
		server.Close()
		got := string(list)
		if err != nil {
			got = err.Error()
		}
		if path := strings.HasPrefix(test.want, "/"); path != (err == nil) || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
