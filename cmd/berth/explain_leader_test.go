package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFindLeader: who finds no scheduler here is told which replica leads and how to ask it, or
// why that is not known.
func TestFindLeader(t *testing.T) {
	const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"
	holders := map[string]string{
		"berth": `"berth-6d5f9c7b8-x2x4z_1f0c8a52-0000"`, "released": `""`, "never": "null", "evil": `"$(reboot)_1"`, "dashes": `"--kubeconfig=x_1"`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := strings.TrimPrefix(r.URL.Path, path)
		if holder, ok := holders[name]; ok {
			_, _ = fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q},"spec":{"holderIdentity":%s}}`, name, holder)
			return
		}
		code, reason := http.StatusNotFound, "NotFound"
		if name == "secret" {
			code, reason = http.StatusForbidden, "Forbidden"
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
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, c := range []struct {
		lease, context, kubeconfig string
		want, not                  string
	}{
		{"kube-system/berth", "here", file, "kubectl port-forward -n kube-system berth-6d5f9c7b8-x2x4z 10259\n", ""},
		{"kube-system/released", "here", file, "nobody holds the lease kube-system/released", "kubectl"},
		{"kube-system/never", "here", file, "nobody holds the lease kube-system/never", "kubectl"},
		{"kube-system/evil", "here", file, `held by "$(reboot)_1", which names no pod`, "kubectl"},
		{"kube-system/dashes", "here", file, `which names no pod`, "kubectl"},
		{"kube-system/other", "here", file, "name the scheduler's Lease with --lease NAMESPACE/NAME", "kubectl"},
		{"kube-system/secret", "here", file, `your user needs get on leases.coordination.k8s.io "secret" in namespace kube-system`, "kubectl"},
		{"kube-system/../berth", "here", file, `--lease: "kube-system/../berth" is not NAMESPACE/NAME`, "kubectl"},
		{"kube-system/berth", "elsewhere", file, `kubeconfig: context "elsewhere" does not exist`, "kubectl"},
		{"kube-system/berth", "", "", "no scheduler answers: ", "lease"},
	} {
		o := serverOptions{output: "text", timeLimit: time.Minute}
		o.leader.lease, o.leader.user.Context, o.leader.user.Kubeconfig = c.lease, c.context, c.kubeconfig
		_, err := o.get(t.Context(), "/path")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "no scheduler answers: ") ||
			c.not != "" && strings.Contains(err.Error(), c.not) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
