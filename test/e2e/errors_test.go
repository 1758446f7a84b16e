package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// refuses starts the scheduler with invalid input. It exits before it does anything, and
// reports what is wrong, where, and what to do.
func refuses(t *testing.T) {
	c := start(t)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name      string
		scheduler cluster.Scheduler
		says      []string
	}{
		{"kubeconfig that is missing", cluster.Scheduler{Kubeconfig: "/does/not/exist"}, []string{"/does/not/exist", "--kubeconfig"}},
		{"kubeconfig that is no kubeconfig", cluster.Scheduler{Kubeconfig: file("kubeconfig", "apiVersion: v1\nkind: Config\nclusters: 3\n")}, []string{"kubeconfig"}},
		{"kubeconfig without a cluster", cluster.Scheduler{Kubeconfig: file("empty", "apiVersion: v1\nkind: Config\n")}, []string{"empty", "names no cluster"}},
		{"unknown field", cluster.Scheduler{Config: "profiles:\n- schedulerName: a\n  plugin: {}\n"}, []string{".yaml", "profiles[0]", "plugin"}},
		{"unknown plugin", cluster.Scheduler{Config: "profiles:\n- plugins: {filter: {enabled: [{name: NoSuch}]}}\n"}, []string{".yaml", "profiles[0].plugins.filter.enabled[0]", "NoSuch"}},
		{"module that is missing", cluster.Scheduler{Config: `profiles:
- plugins: {multiPoint: {enabled: [{name: devices}]}}
  pluginConfig: [{name: devices, args: {apiVersion: berth.dev/v1alpha1, kind: WasmPluginArgs, module: {path: /no/such.wasm}}}]
`}, []string{".yaml", "/no/such.wasm"}},
		{"other kind of file", cluster.Scheduler{Config: "apiVersion: v1\nkind: Pod\n"}, []string{".yaml", "KubeSchedulerConfiguration"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := run(t, c, test.scheduler)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			code, err := p.Wait(ctx)
			if err != nil {
				t.Error(err)
			} else if code <= 0 {
				t.Errorf("exit status %d", code)
			}
			for _, want := range test.says {
				if !strings.Contains(p.Log(), want) {
					t.Errorf("it does not mention %q", want)
				}
			}
			if n := strings.Count(p.Log(), "\n"); n > 20 {
				t.Errorf("it takes %d lines to say so", n)
			}
			if strings.Contains(p.Log(), "goroutine ") {
				t.Error("it panics")
			}
		})
	}
}

// isPatient starts the scheduler when the API server is unreachable, or does not authorize it.
// It logs this, and starts to work when it is over.
func isPatient(t *testing.T) {
	b := newBench(t, "patient", 1, workload.Large())
	expect := func(t *testing.T, p *cluster.Process, texts ...string) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(p.Log(), text) })
			if len(missing) == 0 {
				return
			}
			if !p.Running() || time.Now().After(end) {
				t.Errorf("it does not mention %q", missing)
				return
			}
		}
	}
	works := func(t *testing.T, name string) {
		t.Helper()
		pod := workload.Pod(b.namespace, name, 100, 100)
		if err := load.Pod(t.Context(), b.client, pod); err != nil {
			t.Fatal(err)
		}
		if err := (view{client: b.client, namespace: b.namespace}).await(t.Context(), name, bound, "", patience); err != nil {
			t.Error(err)
		}
	}

	t.Run("away", func(t *testing.T) {
		proxy := b.proxy()
		proxy.Cut()
		p := run(t, b.Cluster, cluster.Scheduler{Server: proxy.URL()})
		expect(t, p, "the API server does not answer", `GET \"`+proxy.URL())
		proxy.Mend()
		works(t, "away")
		expect(t, p, "the API server answers again")
	})
	t.Run("unknown", func(t *testing.T) {
		path, err := b.Kubeconfig(cluster.KubeScheduler, "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "token: ", "token: no-")), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, run(t, b.Cluster, cluster.Scheduler{Kubeconfig: path}), "Unauthorized")
	})
	t.Run("forbidden", func(t *testing.T) {
		p := run(t, b.Cluster, cluster.Scheduler{User: cluster.Nobody})
		expect(t, p, "pods is forbidden", "nodes is forbidden", `User \"nobody\"`, "list and watch on pods")
		for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "nobody-" + strings.ReplaceAll(role, ":", "-")},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: string(cluster.Nobody)}},
			}
			if _, err := b.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := b.client.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		works(t, "forbidden")
	})
}
