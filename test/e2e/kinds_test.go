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
