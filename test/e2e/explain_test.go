package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/console"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/manifests"
)

// explainsFromAfar queries the leader from a machine that can reach only the API server, as
// docs/run.md describes, through the port-forward code of container runtimes: with the
// permissions of the Role berth:explain, and with one of them missing at a time. A user with
// the ClusterRole berth:viewer may read the Lease.
func explainsFromAfar(t *testing.T) {
	b := newInstalled(t, "explain")
	rendered, err := b.Install(t.Context(), deploy(), manifests.Beside())
	if err != nil {
		t.Fatal(err)
	}
	deployment := find[appsv1.Deployment](t, rendered, "Deployment", "berth")
	leader, err := b.RunPod(t.Context(), cluster.PodConfig{Name: "leader", Namespace: deployment.Namespace, Spec: deployment.Spec.Template.Spec})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, leader.Process) })
	b.place("pod", "berth")
	stop, err := b.ForwardPorts(t.Context(), map[int32]int{10259: leader.Port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, err := b.Kubeconfig(cluster.Guest, "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		command := exec.CommandContext(t.Context(), b.Binaries().Berth, args...)
		command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "KUBECONFIG="+kubeconfig) // without a socket
		out, err := command.CombinedOutput()
		if err == nil {
			return string(out)
		}
		return err.Error() + ": " + string(out)
	}
	explain := func(want string, args ...string) {
		t.Helper()
		got := ""
		for end := time.Now().Add(patience); !strings.Contains(got, want); time.Sleep(50 * time.Millisecond) { // permissions take a moment to take effect
			if time.Now().After(end) {
				t.Fatalf("%v: %s, want %s", args, got, want)
			}
			got = ask(append([]string{"explain", b.namespace + "/pod"}, args...)...)
		}
	}

	// The permissions are added one after the other.
	role := find[rbacv1.Role](t, rendered, "Role", "berth:explain")
	lacks := []string{
		`your user needs get on leases.coordination.k8s.io "berth" in namespace kube-system`,
		`your user needs create on serviceaccounts/token "berth-viewer" in namespace kube-system`,
		"your user needs create on pods/portforward in namespace kube-system",
	}
	if len(role.Rules) != len(lacks) {
		t.Fatalf("the Role berth:explain has %d rules, want %d", len(role.Rules), len(lacks))
	}
	granted := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "e2e:explain", Namespace: metav1.NamespaceSystem}}
	roles, bindings := b.client.RbacV1().Roles(granted.Namespace), b.client.RbacV1().RoleBindings(granted.Namespace)
	if granted, err = roles.Create(t.Context(), granted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	guest := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: string(cluster.Guest)}}
	if _, err := bindings.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: granted.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: granted.Name}, Subjects: guest,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	revoke := func() {
		ctx := context.WithoutCancel(t.Context())
		for _, err := range []error{
			roles.Delete(ctx, granted.Name, metav1.DeleteOptions{}), bindings.Delete(ctx, granted.Name, metav1.DeleteOptions{}),
			b.client.RbacV1().ClusterRoleBindings().Delete(ctx, granted.Name, metav1.DeleteOptions{}),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	t.Cleanup(revoke)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for i, lack := range lacks {
		explain(lack)
		granted.Rules = role.Rules[:i+1]
		if granted, err = roles.Update(t.Context(), granted, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The name of a static pod ends in that of its node; other pods are named like their host.
	explain("but namespace kube-system has neither a pod " + host + " nor a pod berth-" + host)
	pods := b.client.CoreV1().Pods(metav1.NamespaceSystem)
	for _, name := range []string{"berth-" + host, host} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: cluster.KubeletNode, Containers: []v1.Container{{Name: "berth", Image: "berth"}}}}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		explain("is on node-")
		explain("is on node-", "--kubeconfig", kubeconfig)
		explain(`"outcome"`, "-o", "json")
		explain("nothing listens on port 1 of", "--leader-port", "1")
		b.console(append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "KUBECONFIG="+kubeconfig))
		if got, want := ask("plugin", "status"), "No modules run."; !strings.Contains(got, want) {
			t.Errorf("plugin status: %s, want %s", got, want)
		}
		var now int64
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
	}
	granted.Rules[2].Verbs = []string{"create"} // which is enough for SPDY
	if granted, err = roles.Update(t.Context(), granted, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("no more WebSockets", func(ctx context.Context) bool {
		review, err := b.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: string(cluster.Guest), ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: metav1.NamespaceSystem, Verb: "get", Resource: "pods", Subresource: "portforward"},
		}}, metav1.CreateOptions{})
		return err == nil && !review.Status.Allowed
	})
	// A user with only a token, which has no permissions.
	if _, err := pods.Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: host}, Spec: v1.PodSpec{NodeName: cluster.KubeletNode, Containers: []v1.Container{{Name: "berth", Image: "berth"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(cluster.Guest.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	explain("is on node-")
	explain("user guest may not get the nonResourceURL /debug/berth/explain/", "--token-file", token)
	revoke()

	// With berth:viewer that token is sufficient, and the Lease may be read.
	if _, err := b.client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: granted.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "berth:viewer"}, Subjects: guest,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	explain(lacks[2], "--token-file", token)
	port := serverAt(leader.Port)
	b.until("the leader lets the guest in", func(context.Context) bool { // it caches a refusal for a while
		code, _ := port.get(t, "/debug/berth/explain/"+b.namespace+"/pod", cluster.Guest)
		return code == http.StatusOK
	})
}

// console opens the console of the leader as a browser does: the link of berth ui admits once, and what the pages ask
// for is what the leader knows.
func (b *bench) console(env []string) {
	b.Helper()
	ui := exec.CommandContext(b.Context(), b.Binaries().Berth, "ui")
	ui.Env = env
	var stderr bytes.Buffer
	ui.Stderr = &stderr
	stdout, err := ui.StdoutPipe()
	if err == nil {
		err = ui.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := errors.Join(ui.Process.Signal(os.Interrupt), ui.Wait()); err != nil {
			b.Errorf("berth ui after an interrupt: %v: %s", err, stderr.String())
		}
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) < 2 {
		b.Fatalf("berth ui printed %q: %s", line, stderr.String())
	}
	link, token, _ := strings.Cut(words[1], "#token=")
	base := strings.TrimSuffix(link, console.Path)
	ask := func(path, secret string) (status int, body string) {
		b.Helper()
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			b.Fatal(err)
		}
		return response.StatusCode, string(data)
	}
	if status, body := ask(console.Path, ""); status != http.StatusOK || !strings.Contains(body, "<title>Berth") {
		b.Errorf("the page: %d %s", status, body)
	}
	status, secret := ask(console.Path+"session", token)
	if status != http.StatusOK {
		b.Fatalf("the link: %d %s", status, secret)
	}
	if status, body := ask(console.Path+"session", token); status != http.StatusUnauthorized {
		b.Errorf("the link, once more: %d %s", status, body)
	}
	secret = strings.TrimSpace(secret)
	for path, want := range map[string]string{
		debughttp.OverviewPath: `"decisions":`, debughttp.NodesPath: `"node-`, debughttp.DecisionsPath: b.namespace, debughttp.PluginsPath: "{",
		debughttp.ExplainPath + b.namespace + "/pod": `"node-`,
	} {
		if status, body := ask(path, secret); status != http.StatusOK || !strings.Contains(body, want) {
			b.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
		if status, body := ask(path, token); status != http.StatusUnauthorized {
			b.Errorf("%s with the token of the link: %d %s", path, status, body)
		}
	}
}
