package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// TestAskScheduler asks a scheduler that runs as berth run does, with an API in memory, about
// pods of all kinds, and changes its log level: at the socket, not at the port.
func TestAskScheduler(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	l := live(t, "--debug-socket="+socket, "--bind-address=127.0.0.1", "--secure-port="+port, "--leader-elect=false",
		"--authentication-skip-lookup", "--authorization-always-allow-paths=/*")
	for _, p := range []v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "others"}, Spec: v1.PodSpec{SchedulerName: "other", NodeName: "n-1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "nobodys"}, Spec: v1.PodSpec{SchedulerName: "nobody"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "ended"}, Spec: v1.PodSpec{SchedulerName: "other", NodeName: "n-1"}, Status: v1.PodStatus{Phase: v1.PodSucceeded}},
	} {
		p.Namespace, p.UID, p.CreationTimestamp = "ns", types.UID(p.Name), metav1.Now()
		if err := l.api.AddPod(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	l.node("n-1", 4)
	l.pod("ns", "fine", 1, 0)
	ask := func(args ...string) string {
		var out bytes.Buffer
		run(t.Context(), args, &out, &out)
		return strings.Join(strings.Fields(out.String()), " ")
	}
	for name, want := range map[string]string{
		"others":  "Its spec.schedulerName is other; this scheduler serves default-scheduler. Another scheduler placed it",
		"nobodys": "this scheduler does not schedule it. Its spec.schedulerName is nobody; this scheduler serves default-scheduler.",
		"ended":   "ns/ended has ended (Succeeded); it was on n-1",
		"fine":    "ns/fine is on n-1, placed",
		"none":    "there is no pod ns/none in the cluster",
	} {
		eventually.Succeeds(t, func() error {
			if got := ask("explain", "ns/"+name, "--server=unix:"+socket); !strings.Contains(got, want) {
				return fmt.Errorf("%s: %s, want %s", name, got, want)
			}
			return nil
		})
	}

	for _, c := range []struct{ level, want string }{{"", "info"}, {"debug", "debug"}, {"", "debug"}, {"loud", "berth: the log level: \"loud\" is not debug, info, warn, error or none"}} {
		args := []string{"log-level", "--debug-socket=" + socket}
		if c.level != "" {
			args = append(args, c.level)
		}
		if got := ask(args...); got != c.want {
			t.Errorf("log-level %s: %s, want %s", c.level, got, c.want)
		}
	}
	for args, want := range map[string]string{
		"": "No debts are open.", "--output=json": "[]", "--forgive=team": "berth: no debt of team is open", "--output=xml": "berth: --output: \"xml\" is neither text nor json",
	} {
		if got := ask(append([]string{"plugin", "debts", "--debug-socket=" + socket}, strings.Fields(args)...)...); got != want {
			t.Errorf("plugin debts %s: %s, want %s", args, got, want)
		}
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it has made its certificate itself
	request := func(method, path string) int {
		r, err := http.NewRequestWithContext(context.Background(), method, "https://"+address+path, strings.NewReader("error"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	if code := request(http.MethodGet, "/metrics"); code != http.StatusOK {
		t.Fatalf("the port does not let the test in: %d", code)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		if code := request(method, debughttp.LevelPath); code != http.StatusNotFound {
			t.Errorf("%s of the level at the port: %d", method, code)
		}
		if code := request(method, debughttp.DebtsPath); code != http.StatusNotFound {
			t.Errorf("%s of debts at the port: %d", method, code)
		}
	}
	if got := ask("log-level", "--debug-socket="+socket); got != "debug" {
		t.Errorf("the port has changed the level to %s", got)
	}
}

// TestHelpFitsScreen: berth --help and the prompt below it fit a screen of 24 lines with 80 columns.
func TestHelpFitsScreen(t *testing.T) {
	var out bytes.Buffer
	run(t.Context(), []string{"--help"}, &out, &out)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) > 23 || len(lines) < 10 {
		t.Errorf("%d lines:\n%s", len(lines), &out)
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
