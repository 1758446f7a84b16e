package kube_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestConnect: what is set for one client is for that one only. A watch with the lease's
// time limit would end every few seconds.
func TestConnect(t *testing.T) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	var asked http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.Header }))
	defer server.Close()
	c := kube.Connection{Master: server.URL}
	c.QPS, c.Burst, c.ContentType = 50, 100, protobuf
	clients, err := c.Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{
		LeaseDuration: metav1.Duration{Duration: 15 * time.Second}, RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	limits := make(map[flowcontrol.RateLimiter]bool)
	for name, want := range map[string]struct {
		client  kubernetes.Interface
		timeout time.Duration
	}{
		"scheduler": {clients.Main, 0}, "events": {clients.Events, 0}, "reviews": {clients.Reviews, 0},
		"leader-election": {clients.Lease, 5 * time.Second},
	} {
		client := want.client.CoreV1().RESTClient().(*rest.RESTClient)
		if got := client.Client.Timeout; got != want.timeout {
			t.Errorf("%s: time limit %v, want %v", name, got, want.timeout)
		}
		client.Post().AbsPath("/").Body(&v1.Pod{}).Do(t.Context())
		if agent := asked.Get("User-Agent"); !strings.HasSuffix(agent, "/"+name) {
			t.Errorf("%s is %q to the API server", name, agent)
		}
		if sent, wanted := asked.Get("Content-Type"), asked.Get("Accept"); sent != protobuf || !strings.HasPrefix(wanted, protobuf) {
			t.Errorf("%s sends %s and accepts %s", name, sent, wanted)
		}
		limit := client.GetRateLimiter()
		if got := limit.QPS(); got != 50 {
			t.Errorf("%s: %v requests a second, want 50", name, got)
		}
		if limits[limit] {
			t.Errorf("%s shares its limit with another", name)
		}
		limits[limit] = true
	}
}
