package kube_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestConnect: what is set for one client is for that one only. A watch with the lease's
// time limit would end every few seconds.
func TestConnect(t *testing.T) {
	var agent string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { agent = r.UserAgent() }))
	defer server.Close()
	c := kube.Connection{Master: server.URL}
	c.QPS, c.Burst = 50, 100
	clients, err := c.Connect(componentconfigv1alpha1.LeaderElectionConfiguration{
		LeaseDuration: metav1.Duration{Duration: 15 * time.Second}, RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
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
		client.Get().AbsPath("/").Do(t.Context())
		if !strings.HasSuffix(agent, "/"+name) {
			t.Errorf("%s is %q to the API server", name, agent)
		}
	}
}
