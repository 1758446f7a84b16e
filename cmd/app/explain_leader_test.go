package app

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFindLeader: without a scheduler here, or with a kubeconfig, the error says why the replica
// that leads cannot be asked, with the right that is missing. (That it is asked if all is well is
// a test in test/e2e.)
func TestFindLeader(t *testing.T) {
	const (
		leases   = "/apis/coordination.k8s.io/v1/namespaces/"
		accounts = "/serviceaccounts/berth-viewer/token"
		pods     = "/api/v1/namespaces/kube-system/pods/"
	)
	holders := map[string]string{
		"berth": `"berth-6d5f9c7b8-x2x4z_1f0c8a52-0000"`, "machine": `"machine-1_1f0c8a52-0000"`, "absent": `"absent_1"`,
		"released": `""`, "never": "null", "evil": `"$(reboot)_1"`, "dashes": `"--kubeconfig=x_1"`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		code, reason := http.StatusForbidden, "Forbidden"
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, leases):
			name := path[strings.LastIndexByte(path, '/')+1:]
			if holder, ok := holders[name]; ok {
				_, _ = fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q},"spec":{"holderIdentity":%s}}`, name, holder)
				return
			}
			if name != "secret" {
				code, reason = http.StatusNotFound, "NotFound"
			}
		case strings.HasSuffix(path, accounts):
			switch strings.Split(path, "/")[4] {
			case "kube-system":
				_, _ = fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","status":{"token":"t"}}`)
				return
			case "bare":
				code, reason = http.StatusNotFound, "NotFound"
			}
		case strings.HasPrefix(path, pods+"absent/"), strings.HasPrefix(path, pods+"berth-absent/"), strings.HasPrefix(path, pods+"machine-1/"):
			code, reason = http.StatusNotFound, "NotFound"
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
	}))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: none\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: here, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n", server.URL)
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir) // where no scheduler has a socket
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, c := range []struct {
		lease, context string
		want, not      string
	}{
		{"kube-system/berth", "here", "your user needs create on pods/portforward in namespace kube-system)\nIf you may exec into its pod, run\n  kubectl exec -n kube-system berth-6d5f9c7b8-x2x4z -- /berth", ""},
		{"kube-system/machine", "here", "your user needs create on pods/portforward in namespace kube-system)\nIf you may exec into its pod, run\n  kubectl exec -n kube-system berth-machine-1 -- /berth", ""},
		{"kube-system/absent", "here", "held by absent_1, but namespace kube-system has neither a pod absent nor a pod berth-absent", "kubectl"},
		{"other/berth", "here", `your user needs create on serviceaccounts/token "berth-viewer" in namespace other; or pass your own token with --token-file`, "kubectl"},
		{"bare/berth", "here", `token of service account bare/berth-viewer: no (kubectl apply -f deploy/viewer.yaml creates it`, "exec"},
		{"kube-system/released", "here", "nobody holds the lease kube-system/released", "kubectl"},
		{"kube-system/never", "here", "nobody holds the lease kube-system/never", "kubectl"},
		{"kube-system/evil", "here", `the holder "$(reboot)_1" of the lease kube-system/evil is not the name of a pod`, "kubectl"},
		{"kube-system/dashes", "here", `is not the name of a pod`, "kubectl"},
		{"kube-system/other", "here", "name the scheduler's Lease with --lease NAMESPACE/NAME", "kubectl"},
		{"kube-system/secret", "here", `your user needs get on leases.coordination.k8s.io "secret" in namespace kube-system`, "kubectl"},
		{"kube-system/../berth", "here", `--lease: "kube-system/../berth" is not NAMESPACE/NAME`, "kubectl"},
		{"kube-system/berth", "elsewhere", `kubeconfig: context "elsewhere" does not exist`, "kubectl"},
	} {
		for _, given := range []bool{true, false} {
			args, here := []string{"explain", "ns/pod", "--lease", c.lease, "--request-timeout", time.Minute.String()}, "no local scheduler answers: "
			t.Setenv("KUBECONFIG", "")
			if given {
				args, here = append(args, "--kubeconfig", file, "--context", c.context), ""
			} else {
				// The current context, as kubectl has it.
				current := filepath.Join(dir, "current")
				if err := os.WriteFile(current, []byte(strings.Replace(kubeconfig, "current-context: none", "current-context: "+c.context, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Setenv("KUBECONFIG", current)
			}
			var out bytes.Buffer
			want, status := c.want, exitFailed
			switch {
			case strings.HasPrefix(want, "--lease"):
				status, here = exitBadInput, ""
			case c.context == "elsewhere" && given:
				status = exitBadInput
			case c.context == "elsewhere":
				want = "kubeconfig: "
			}
			code := run(t.Context(), args, &out, &out)
			got, ok := strings.CutPrefix(strings.ReplaceAll(out.String(), "\nberth: ", "\n"), "berth: "+here)
			if code != status || !ok || !strings.Contains(got, want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("%+v, given %v: status %d, %s", c, given, code, &out)
			}
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	var out bytes.Buffer
	if code := run(t.Context(), []string{"explain", "ns/pod"}, &out, &out); code != 1 || !strings.HasPrefix(out.String(), "berth: no local scheduler answers: ") ||
		!strings.Contains(out.String(), "none: no such kubeconfig, or it names no cluster") || strings.Contains(out.String(), "lease") {
		t.Errorf("without a cluster: status %d, %s", code, &out)
	}
}
