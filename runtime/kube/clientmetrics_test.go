package kube_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
)

// TestClientMetrics: what client-go measures is served under kube-scheduler's names.
func TestClientMetrics(t *testing.T) {
	ctx, u := t.Context(), url.URL{Host: "h"}
	metrics.RequestResult.Increment(ctx, "200", "GET", "h")
	metrics.RequestLatency.Observe(ctx, "GET", u, time.Second)
	metrics.RateLimiterLatency.Observe(ctx, "GET", u, time.Second)
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[int]{Name: "q"})
	defer queue.ShutDown()
	queue.Add(1)
	cluster, client := connect(t)
	err := elect(t, client, cluster).Lead(ctx, func(context.Context) error {
		w := httptest.NewRecorder()
		legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, want := range []string{
			`rest_client_requests_total{code="200",host="h",method="GET"} `,
			`rest_client_request_duration_seconds_sum{host="h",verb="GET"} `,
			`rest_client_rate_limiter_duration_seconds_sum{host="h",verb="GET"} `,
			`workqueue_adds_total{name="q"} `,
			`leader_election_master_status{name="kube-scheduler"} 1`,
		} {
			if !strings.Contains(w.Body.String(), "\n"+want) {
				t.Errorf("there is no line %s", want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
