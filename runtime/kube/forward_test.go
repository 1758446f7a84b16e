package kube_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestRestDialPod: a connection to a pod goes both ways over an API server that knows SPDY alone,
// as older ones do, and what the kubelet says of a port where nothing listens is reported, as is the
// right that is missing. One that does not answer is not waited for.
func TestRestDialPod(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pod, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/kube-system/pods/"), "/portforward")
		if !ok {
			http.NotFound(w, r)
			return
		}
		switch {
		case pod == "slow":
			<-over
		case pod == "secret":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
		case r.Method == http.MethodPost:
			forwardPort(w, r)
		default:
			http.Error(w, "no WebSockets here", http.StatusBadRequest)
		}
	}))
	defer server.Close()
	defer close(over)
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: here, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n", server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	visitor, err := kube.User{Kubeconfig: file}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(pod string, port int) string {
		ctx := t.Context()
		if pod == "slow" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
		}
		conn, err := visitor.DialPod(ctx, types.NamespacedName{Namespace: "kube-system", Name: pod}, port)
		if err != nil {
			return err.Error()
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "?"); err != nil {
			return err.Error()
		}
		answer := make([]byte, 100)
		n, err := conn.Read(answer)
		if err != nil {
			return err.Error()
		}
		return string(answer[:n])
	}
	for _, c := range []struct {
		pod  string
		port int
		want string
	}{
		{"leader", 10259, "? to 10259"},
		{"leader", 1, "kubelet: nobody listens at 1"},
		{"secret", 10259, "your user needs create on pods/portforward in namespace kube-system"},
		{"slow", 10259, context.DeadlineExceeded.Error()},
	} {
		if got := ask(c.pod, c.port); !strings.Contains(got, c.want) {
			t.Errorf("%s, port %d: %s, want %s", c.pod, c.port, got, c.want)
		}
	}
}

// forwardPort is a kubelet: it repeats what is sent to a port above 1.
func forwardPort(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	byType := make(map[string]httpstream.Stream)
	for range 2 {
		s := <-streams
		byType[s.Headers().Get(v1.StreamType)] = s
	}
	failed, data := byType[v1.StreamTypeError], byType[v1.StreamTypeData]
	if port := data.Headers().Get(v1.PortHeader); port == "1" {
		_, _ = io.WriteString(failed, "nobody listens at 1")
	} else {
		asked := make([]byte, 1)
		_, _ = io.ReadFull(data, asked)
		_, _ = fmt.Fprintf(data, "%s to %s", asked, port)
	}
	_ = failed.Close()
	_ = data.Close()
	<-conn.CloseChan()
}
