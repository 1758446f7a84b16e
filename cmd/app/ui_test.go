package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/console"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/report/reporttest"
)

// uiOf asks a console with a header.
func uiOf(t *testing.T, h http.Handler, method, path, secret string) (status int, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:1234"+path, nil)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestGate: a link lets one tab in, once. Without a session there are only the pages, and under another name
// of the address there is nothing. All of it is read only.
func TestGate(t *testing.T) {
	var links []string
	asked := 0
	g := &gate{host: "127.0.0.1:1234", linked: func(url string) { links = append(links, url) }, data: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = io.WriteString(w, "answer to "+r.URL.Path)
	})}
	h := g.handler()
	token := func(i int) string {
		_, token, _ := strings.Cut(links[i], console.Path+"#token=")
		return token
	}
	if code, body := uiOf(t, h, http.MethodGet, console.Path, ""); code != http.StatusOK || !strings.Contains(body, "<title>Berth") {
		t.Errorf("the page: %d %s", code, body)
	}
	for _, secret := range []string{"", "x", token(0)} {
		if code, _ := uiOf(t, h, http.MethodGet, debughttp.QueuePath, secret); code != http.StatusUnauthorized {
			t.Errorf("with %q: %d", secret, code)
		}
	}
	if code, _ := uiOf(t, h, http.MethodGet, sessionPath, "x"); code != http.StatusUnauthorized || len(links) != 1 {
		t.Errorf("with another token: %d, %d links", code, len(links))
	}
	var sessions []string
	for i := range 2 {
		code, secret := uiOf(t, h, http.MethodGet, sessionPath, token(i))
		if code != http.StatusOK || len(links) != i+2 {
			t.Fatalf("link %d: %d, %d links", i, code, len(links))
		}
		sessions = append(sessions, strings.TrimSpace(secret))
		if code, _ := uiOf(t, h, http.MethodGet, sessionPath, token(i)); code != http.StatusUnauthorized {
			t.Errorf("link %d, used again: %d", i, code)
		}
	}
	for _, session := range sessions {
		for _, path := range debughttp.ConsolePaths() {
			if strings.HasSuffix(path, "/") {
				path += "ns/pod"
			}
			if code, body := uiOf(t, h, http.MethodGet, path, session); code != http.StatusOK || body != "answer to "+path {
				t.Errorf("%s: %d %s", path, code, body)
			}
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
				if code, _ := uiOf(t, h, method, path, session); code != http.StatusMethodNotAllowed {
					t.Errorf("%s %s: %d", method, path, code)
				}
			}
		}
	}
	before := asked
	for _, path := range []string{"/metrics", "/configz", debughttp.WhatIfPath, debughttp.LevelPath, "/debug/pprof/", debughttp.ExplainPath + "../../../metrics", debughttp.ExplainPath + "..%2f..%2f..%2fmetrics"} {
		if code, _ := uiOf(t, h, http.MethodGet, path, sessions[0]); code == http.StatusOK || asked != before {
			t.Errorf("%s: %d", path, code)
		}
	}
	g.host = "other:1234"
	if code, _ := uiOf(t, h, http.MethodGet, console.Path, sessions[0]); code != http.StatusMisdirectedRequest {
		t.Errorf("under another name: %d", code)
	}
}

// TestPassing: what the console asks goes to the scheduler by one connection, with the user's token, and what the
// scheduler refuses stays refused.
func TestPassing(t *testing.T) {
	connections := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || r.URL.RawQuery != "" {
			t.Errorf("%s %s, %v", r.Method, r.URL, r.Header)
		}
		if r.URL.Path == debughttp.NodesPath {
			http.Error(w, "this replica is not the leader", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, r.URL.EscapedPath())
	}))
	defer server.Close()
	o := uiOptions{server: serverOptions{server: server.URL, timeLimit: 1 << 40}}
	data, err := o.data(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{debughttp.QueuePath + "?x=y": debughttp.QueuePath, debughttp.ExplainPath + "a%2Fb/c": debughttp.ExplainPath + "a%2Fb/c", debughttp.NodesPath: "this replica is not the leader\n"} {
		code, body := uiOf(t, data, http.MethodGet, path, "of the tab")
		if body != want || (code == http.StatusServiceUnavailable) != (path == debughttp.NodesPath) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if len(connections) != 1 {
		t.Errorf("%d connections", len(connections))
	}
	server.Close()
	if code, body := uiOf(t, data, http.MethodGet, debughttp.QueuePath, ""); code != http.StatusBadGateway {
		t.Errorf("nobody answers: %d %s", code, body)
	}
}

// printed runs a command of berth and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("berth %v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

// demoUI returns what answers the console about a recording of the demo.
func demoUI(t *testing.T) http.Handler {
	t.Helper()
	file := filepath.Join(t.TempDir(), "demo.berthrec")
	printed(t, "simulate", "--cluster", "../berth/demo/cluster", "--config", "../berth/demo/scheduler.yaml", "--record", file)
	o := uiOptions{program: newProgram(), file: file, modules: moduleOptions{memory: "2Gi", log: "none", harmless: true, compileOptions: compileOptions{cache: t.TempDir(), cacheSize: "768Mi", compileMemory: "2Gi"}}}
	data, err := o.data(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestUIOfRecording: a recording is shown as it ended, with its own time.
func TestUIOfRecording(t *testing.T) {
	data := demoUI(t)
	ask := func(path string, to any) {
		t.Helper()
		code, body := uiOf(t, data, http.MethodGet, path, "")
		if err := json.Unmarshal([]byte(body), to); code != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s", path, code, body)
		}
	}
	var overview debughttp.Overview
	ask(debughttp.OverviewPath, &overview)
	var queue debughttp.Queue
	ask(debughttp.QueuePath, &queue)
	var nodes []debughttp.Node
	ask(debughttp.NodesPath, &nodes)
	var work []debughttp.Work
	ask(debughttp.WorkPath, &work)
	var decisions []debughttp.Decision
	ask(debughttp.DecisionsPath, &decisions)
	if overview.Recording != "demo.berthrec" || overview.Places["unschedulable"] == 0 || overview.Decisions == 0 || len(work) == 0 || len(nodes) == 0 {
		t.Errorf("%+v", overview)
	}
	if d := decisions[0]; d.At.After(overview.Now) || d.Sequence != overview.Decisions {
		t.Errorf("%+v at %v", d, overview.Now)
	}
	requested := int64(0)
	for _, n := range nodes {
		requested += n.Resources[0].Requested
		for _, r := range n.Resources {
			if r.Requested < 0 || r.Requested > r.Allocatable {
				t.Errorf("%s: %+v", n.Name, r)
			}
		}
	}
	if requested == 0 {
		t.Error("nothing is requested")
	}
	p := queue.Pods[slices.IndexFunc(queue.Pods, func(p debughttp.Queued) bool { return p.Place == "unschedulable" })]
	if p.Reason == "" || len(p.Plugins) == 0 || p.Attempts == 0 || len(queue.Pods) != queue.Total {
		t.Errorf("%+v", p)
	}
	var pod debughttp.Pod
	ask(debughttp.ExplainPath+p.Namespace+"/"+p.Name, &pod)
	if pod.Where != "unschedulable" || pod.Last == nil || pod.Last.Attempt.Message != p.Reason || len(pod.History) != p.Attempts {
		t.Errorf("%+v", pod)
	}
}

// TestExplanationsFollowSchema: what commands print for programs follows docs/explanation.schema.json.
func TestExplanationsFollowSchema(t *testing.T) {
	server := httptest.NewServer(demoUI(t))
	defer server.Close()
	response, err := http.Get(server.URL + debughttp.QueuePath)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var queue debughttp.Queue
	if err := json.NewDecoder(response.Body).Decode(&queue); err != nil {
		t.Fatal(err)
	}
	codes := make(map[report.Outcome]int)
	check := func(text []byte) {
		t.Helper()
		reporttest.Validate(t, text)
		var e report.Explanation
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		codes[e.Code]++
	}
	for _, p := range queue.Pods {
		if p.Place != "unschedulable" {
			continue // it was not tried
		}
		var pod struct {
			Explanation json.RawMessage `json:"explanation"`
		}
		if err := json.Unmarshal([]byte(printed(t, "explain", p.Namespace+"/"+p.Name, "-o", "json", "--server", server.URL)), &pod); err != nil {
			t.Fatal(err)
		}
		check(pod.Explanation)
	}
	pods := filepath.Join(t.TempDir(), "pods.yaml")
	if err := os.WriteFile(pods, []byte(`apiVersion: v1
kind: Pod
metadata: {name: selects, namespace: default}
spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: large, namespace: default}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1000"}}}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Explanations []json.RawMessage `json:"explanations"`
	}
	if err := json.Unmarshal([]byte(printed(t, "whatif", "--pods", pods, "--cluster", "../berth/demo/cluster", "--config", "../berth/demo/scheduler.yaml", "--explain", "-o", "json")), &answer); err != nil {
		t.Fatal(err)
	}
	changes := 0
	for _, text := range answer.Explanations {
		check(text)
		if strings.Contains(string(text), `"change"`) {
			changes++
		}
	}
	if len(answer.Explanations) != 2 || changes == 0 || codes[report.DoesNotFit] < 3 {
		t.Errorf("%v, %d explanations, %d changes", codes, len(answer.Explanations), changes)
	}
}
