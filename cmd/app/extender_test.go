package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// TestSimulateWithExtender: extenders of a configuration are asked, and never to
// bind.
func TestSimulateWithExtender(t *testing.T) {
	paths := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths[r.URL.Path]++
		var asked extenderv1.ExtenderArgs
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if r.URL.Path == "/prioritize" {
			_ = json.NewEncoder(w).Encode(extenderv1.HostPriorityList{{Host: (*asked.NodeNames)[0], Score: int64(paths[r.URL.Path] % 11)}})
			return
		}
		answer := extenderv1.ExtenderFilterResult{NodeNames: &[]string{}, FailedNodes: extenderv1.FailedNodesMap{}}
		for _, name := range *asked.NodeNames {
			if strings.HasPrefix(name, "b-") {
				*answer.NodeNames = append(*answer.NodeNames, name)
			} else {
				answer.FailedNodes[name] = "not a b"
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	file, recording := filepath.Join(t.TempDir(), "scheduler.yaml"), filepath.Join(t.TempDir(), "day.berthrec")
	text := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"extenders: [{urlPrefix: %q, filterVerb: filter, prioritizeVerb: prioritize, weight: 1, bindVerb: bind, nodeCacheCapable: true}]\n",
		strings.Replace(s.URL, "://", "://user:hunter2@", 1))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"simulate", "--cluster", "testdata/cluster", "--config", file, "--record", recording, "-o", "json"}, &stdout, &stderr); status != exitOK {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	var result struct{ Placements []struct{ Node string } }
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	for _, p := range result.Placements {
		if !strings.HasPrefix(p.Node, "b-") {
			t.Errorf("a pod is on %s", p.Node)
		}
	}
	if len(result.Placements) == 0 || paths["/filter"] == 0 || paths["/bind"] > 0 || !strings.Contains(stdout.String(), `"name": "Extender"`) {
		t.Errorf("asked %v, placed %v\n%s", paths, result.Placements, stdout.String())
	}
	if !strings.Contains(stderr.String(), "extenders[0].bindVerb is not called") {
		t.Errorf("stderr: %s", stderr.String())
	}

	// A replay has their answers, and no passwords.
	s.Close()
	stdout.Reset()
	if status := run(t.Context(), []string{"replay", recording}, &stdout, &stderr); status != exitOK || !strings.Contains(stdout.String(), "All are as recorded") {
		t.Errorf("status %d: %s%s", status, stdout.String(), stderr.String())
	}
	stdout.Reset()
	if status := run(t.Context(), []string{"replay", recording, "--text"}, &stdout, &stderr); status != exitOK || strings.Contains(stdout.String(), "hunter2") {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	if n := strings.Count(stdout.String(), "\nanswer "); n != paths["/filter"]+paths["/prioritize"] || paths["/prioritize"] == 0 {
		t.Errorf("%d answers are recorded; asked %v", n, paths)
	}
	other := filepath.Join(t.TempDir(), "other.txt")
	without := strings.Replace(stdout.String(), "\nanswer prioritize ", "\nanswer prioritise ", 1)
	if err := os.WriteFile(other, []byte(without), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := run(t.Context(), []string{"replay", other}, &stdout, &stderr); status != exitFailed {
		t.Errorf("status %d without an answer", status)
	}
}
