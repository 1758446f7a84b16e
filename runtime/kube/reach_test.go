package kube_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// lines is a log that several goroutines write to.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.out.String()), "\n")
}

// expect waits until the log has so many lines, each with its texts, and fails if there are
// more a while after.
func (l *lines) expect(t *testing.T, want ...[]string) {
	t.Helper()
	eventually.Holds(t, "the log", func() bool { return len(l.all()) >= len(want) && l.all()[0] != "" })
	time.Sleep(2 * time.Second) // informers try again
	got := l.all()
	if len(got) != len(want) {
		t.Fatalf("the log has %d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, texts := range want {
		for _, text := range texts {
			if !strings.Contains(got[i], text) {
				t.Errorf("%q is missing in %s", text, got[i])
			}
		}
	}
}

// reach connects a cluster to a server by a kubeconfig.
func reach(t *testing.T, server *httptest.Server, cluster, user string) (*kube.Cluster, *kube.Clients, *lines) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, %s}}]
users: [{name: u, user: {%s}}]
`, server.URL, cluster, user), 0o600); err != nil {
		t.Fatal(err)
	}
	connection := kube.Connection{ClientConnectionConfiguration: componentconfigv1alpha1.ClientConnectionConfiguration{Kubeconfig: config, QPS: 1000, Burst: 1000}}
	no := false
	clients, err := connection.Connect(t.Context(), componentconfigv1alpha1.LeaderElectionConfiguration{LeaderElect: &no})
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}},
		kube.Deps{Client: clients.Main, Events: clients.Events, Reach: clients.Reach, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	if err := c.Start(newEar(c)); err != nil {
		t.Fatal(err)
	}
	return c, clients, log
}

// serve answers every request: with a status, or with nothing that can be read.
func serve(t *testing.T, status *atomic.Int64) *httptest.Server {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/version" && status.Load() == http.StatusOK {
			select { // a list that takes long
			case <-r.Context().Done():
			case <-over:
			}
			return
		}
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	return server
}

// TestRestUnauthorized: a token that the API server does not accept is reported once, with what
// to do, and that it is accepted then. So it is with a certificate of an unknown authority.
func TestRestUnauthorized(t *testing.T) {
	t.Run("token", func(t *testing.T) {
		var status atomic.Int64
		status.Store(http.StatusUnauthorized)
		_, clients, log := reach(t, serve(t, &status), "insecure-skip-tls-verify: true", "token: bad")
		told := []string{"level=ERROR", "does not accept the scheduler's credentials (401 Unauthorized)", "remedy=", "put a valid token into kubeconfig /", "users[].user.token", "since="}
		log.expect(t, told)
		status.Store(http.StatusOK)
		if _, err := clients.Main.Discovery().ServerVersion(); err != nil {
			t.Fatal(err)
		}
		log.expect(t, told, []string{"level=INFO", "the API server answers again", "after="})
	})
	t.Run("authority", func(t *testing.T) {
		var status atomic.Int64
		status.Store(http.StatusOK)
		_, _, log := reach(t, serve(t, &status), "certificate-authority-data: ", "token: t")
		log.expect(t, []string{"level=ERROR", "the certificate of the API server is not trusted (x509)", "names no authority: put the certificate of the API server's authority into it"})
	})
}

// TestRestOutage: an outage of the API server is reported once, with its beginning, and that it is back
// with how long it took and what was queued.
func TestRestOutage(t *testing.T) {
	var status atomic.Int64
	status.Store(http.StatusOK)
	server := serve(t, &status)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	c, clients, log := reach(t, server, "certificate-authority: "+file, "token: t")
	if _, err := clients.Main.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	address := server.Listener.Addr().String()
	server.CloseClientConnections()
	_ = server.Listener.Close()
	server.CloseClientConnections()
	p := state.NewPod(pod("p", "", "default-scheduler"))
	c.Failed(scheduler.Failure{Pod: p, Reason: v1.PodReasonUnschedulable, Message: "no"})
	go func() { _ = c.Bind(t.Context(), binding(pod("q", "", "default-scheduler"), nil, nil)) }()
	away := []string{"level=ERROR", "the API server does not answer", "since=", "error=", "queued.bindings="}
	log.expect(t, away)

	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	next := httptest.NewUnstartedServer(server.Config.Handler)
	_ = next.Listener.Close()
	next.Listener = listener
	next.StartTLS()
	t.Cleanup(next.CloseClientConnections) // what waits ends with the first server
	eventually.Holds(t, "back", func() bool { _, err := clients.Main.Discovery().ServerVersion(); return err == nil })
	log.expect(t, away, []string{"level=INFO", "the API server answers again", "after=", "queued.bindings=1", "queued.status=1", "queued.events=1"})
}
