package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// installKinds applies deploy/crds, and returns how to reach objects of the kinds once the API
// server serves them. They are removed when the test ends.
func installKinds(t testing.TB, c *cluster.Cluster) *cluster.Objects {
	t.Helper()
	objects, err := c.Objects("default")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(deploy(), "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := objects.Apply(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	t.Cleanup(func() { removeKinds(t, c) })
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		objects, err = c.Objects("default")
		if err == nil {
			err = objects.DryRun().Apply(t.Context(), []byte("apiVersion: berth.dev/v1alpha1\nkind: TenantPlugin\nmetadata: {name: served}\nspec: {}\n"))
		}
		switch {
		case apierrors.IsInvalid(err): // it has no module
			return objects
		case time.Now().After(until):
			t.Fatal("the kinds are not served:", err)
		case err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) && !errors.Is(err, context.DeadlineExceeded):
			t.Fatal(err)
		}
	}
}

// removeKinds removes the kinds with all of their objects.
func removeKinds(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	objects, err := c.Objects("default")
	for _, plural := range []string{"tenantplugins", "plugingrants", "schedulerplugins"} {
		if err == nil {
			err = objects.Delete(ctx, "customresourcedefinitions", plural+".berth.dev")
		}
	}
	for err == nil {
		if _, err = objects.Status(ctx, "customresourcedefinitions", "tenantplugins.berth.dev"); err == nil {
			time.Sleep(50 * time.Millisecond)
		}
	}
	if !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// TestKinds applies objects of berth.dev/v1alpha1 to the API server, by a table: it must accept
// some, and refuse the others with the words that the table has.
func TestKinds(t *testing.T) {
	c := start(t)
	installed := installKinds(t, c)
	objects := installed.DryRun()
	table, err := txtar.ParseFile(filepath.Join("..", "..", "runtime", "api", "v1alpha1", "testdata", "kinds.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range table.Files {
		t.Run(file.Name, func(t *testing.T) {
			err := objects.Apply(t.Context(), file.Data)
			first, _, _ := strings.Cut(string(file.Data), "\n")
			want, refused := strings.CutPrefix(first, "# ")
			switch {
			case refused != strings.HasPrefix(file.Name, "refused/"):
				t.Errorf("the first line says what a refusal says; this is %q", first)
			case !refused && err != nil:
				t.Error(err)
			case refused && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%v\nwant: %s", err, want)
			}
		})
	}
	if err := installed.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}")); err != nil { // that of docs
		t.Fatal(err)
	}
	t.Run("docs", func(t *testing.T) { appliesDocs(t, objects) })
	t.Run("users", func(t *testing.T) { obeysRoles(t, c, installed) })
	t.Run("columns", func(t *testing.T) { printsColumns(t, c) })
}

// appliesDocs applies the objects of docs as they are written.
func appliesDocs(t *testing.T, objects *cluster.Objects) {
	block := regexp.MustCompile("(?s)```yaml\n(apiVersion: berth.dev/.*?)```")
	for _, page := range []string{"rollouts.md", "tenants.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := block.FindAllSubmatch(text, -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no objects", page)
		}
		for _, b := range blocks {
			if err := objects.Apply(t.Context(), b[1]); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, b[1])
			}
		}
	}
}

// obeysRoles lets a user with a role of deploy/tenants write objects: a tenant may attach plugins in its namespace and nothing else, and
// the platform may grant. The API server of the tests has no controller that aggregates, so the roles are bound themselves.
func obeysRoles(t *testing.T, c *cluster.Cluster, admin *cluster.Objects) {
	text, err := os.ReadFile(filepath.Join(deploy(), "tenants", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	guest, err := c.Client(cluster.Guest)
	if err != nil {
		t.Fatal(err)
	}
	const plugin = `{"apiVersion": "berth.dev/v1alpha1", "kind": "TenantPlugin", "metadata": {"name": "p"},` +
		` "spec": {"module": {"image": "registry.test/p:1.0.0"}}}`
	const grant = `{"apiVersion": "berth.dev/v1alpha1", "kind": "PluginGrant", "metadata": {"name": "g"},
		"spec": {"namespaces": ["team-a"], "modules": [{"repositories": ["registry.test/*"]}]}}`
	may := func(path, body string) bool {
		err := guest.RESTClient().Post().AbsPath("/apis/berth.dev/v1alpha1/"+path).Param("dryRun", "All").
			Body([]byte(body)).Do(t.Context()).Error()
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, step := range []struct{ kind, role, allowed string }{
		{"RoleBinding", "berth:tenant-view", ""},
		{"RoleBinding", "berth:tenant", "own"},
		{"ClusterRoleBinding", "berth:platform", "own other grant"},
	} {
		binding := "{apiVersion: rbac.authorization.k8s.io/v1, kind: " + step.kind + ", metadata: {name: e2e-" + strings.ReplaceAll(step.role, ":", "-") +
			", namespace: team-a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: '" + step.role +
			"'}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: " + string(cluster.Guest) + "}]}"
		if step.kind == "ClusterRoleBinding" {
			binding = strings.Replace(binding, ", namespace: team-a", "", 1)
			t.Cleanup(func() {
				_ = admin.Delete(context.Background(), "clusterrolebindings", "e2e-berth-platform") // a next one is reported by Apply
			})
		}
		if err := admin.Apply(t.Context(), []byte(binding)); err != nil {
			t.Fatal(err)
		}
		got := ""
		for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) { // roles take a moment to take effect
			var allowed []string
			for _, try := range []struct{ name, path, body string }{
				{"own", "namespaces/team-a/tenantplugins", plugin}, {"other", "namespaces/default/tenantplugins", plugin},
				{"grant", "plugingrants", grant},
			} {
				if may(try.path, try.body) {
					allowed = append(allowed, try.name)
				}
			}
			if got = strings.Join(allowed, " "); got == step.allowed {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("with %s the user may write %q, want %q", step.role, got, step.allowed)
			}
		}
	}
}

// printsColumns checks what kubectl get shows of the kinds.
func printsColumns(t *testing.T, c *cluster.Cluster) {
	client, err := c.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for plural, want := range map[string][]string{
		"schedulerplugins": {"Name", "Ready", "Reason", "Version", "Rollout", "Step", "Order", "Age", "Image", "Digest", "Message"},
		"plugingrants":     {"Name", "Ready", "Reason", "Plugins", "Namespaces", "Age", "Message"},
		"tenantplugins":    {"Name", "Ready", "Reason", "Version", "Rollout", "Step", "Grant", "Age", "Image", "Digest", "Message"},
	} {
		body, err := client.RESTClient().Get().AbsPath("/apis/berth.dev/v1alpha1/"+plural).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var table metav1.Table
		if err := json.Unmarshal(body, &table); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, column := range table.ColumnDefinitions {
			got = append(got, column.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: columns %q, want %q", plural, got, want)
		}
	}
}
