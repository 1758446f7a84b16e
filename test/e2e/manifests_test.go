package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/manifests"
)

// TestManifests validates the manifests of deploy/ against the API server, including those that
// are not installed, and requires an unknown field to be rejected in each. What the
// kustomization lists is applied when the cluster starts, and here again in each variant, as in
// an upgrade. Kinds that are not built into the API server, such as PodMonitor, are left out.
func TestManifests(t *testing.T) {
	c := start(t)
	for _, v := range manifests.Installed() {
		if _, err := c.Install(t.Context(), deploy(), v); err != nil {
			t.Error(err)
		}
	}
	removeExtras(t, c)
	objects, err := c.Objects("kube-system")
	if err != nil {
		t.Fatal(err)
	}
	objects = objects.DryRun()
	var kinds []string
	if err := filepath.WalkDir(deploy(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "chart" { // test/chart has its tests
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			if err := objects.Apply(t.Context(), []byte(document)); meta.IsNoMatchError(err) {
				continue
			} else if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			err := objects.Apply(t.Context(), []byte(document+"\nnoSuchField: 1\n"))
			if err == nil || !strings.Contains(err.Error(), `unknown field "noSuchField"`) {
				t.Errorf("%s with an unknown field: %v", path, err)
			}
			for line := range strings.Lines(document) {
				if kind, ok := strings.CutPrefix(line, "kind: "); ok {
					kinds = append(kinds, strings.TrimSpace(kind))
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Lease", "Deployment", "PodDisruptionBudget", "NetworkPolicy", "Pod",
		"CustomResourceDefinition",
	} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("there is no %s", kind)
		}
	}
}

// TestChart applies what the Helm chart renders, which test/chart compares with its templates, to
// the API server, strictly and without effect.
func TestChart(t *testing.T) {
	c := start(t)
	client, err := c.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := c.Objects("kube-system")
	if err != nil {
		t.Fatal(err)
	}
	if err := objects.Apply(t.Context(), []byte(surroundings)); err != nil {
		t.Fatal(err)
	}
	awaitThat(t, "PodMonitors are served", func() bool {
		_, err := client.Discovery().ServerResourcesForGroupVersion("monitoring.coreos.com/v1")
		return err == nil
	})
	if objects, err = c.Objects("kube-system"); err != nil { // which knows them
		t.Fatal(err)
	}
	objects = objects.DryRun()
	dir := filepath.Join("..", "chart", "testdata")
	values, err := filepath.Glob(filepath.Join(dir, "*.values.yaml"))
	if err != nil || len(values) == 0 {
		t.Fatal(values, err)
	}
	kinds := make(map[string]bool)
	for _, file := range values {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: strings.TrimPrefix(first, "# namespace: ")}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		rendered, err := os.ReadFile(strings.Replace(file, ".values.", ".golden.", 1))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(rendered), "\n---\n") {
			if err := objects.Apply(t.Context(), []byte(document)); err != nil {
				t.Errorf("%s: %v in\n%s", file, err, document)
			}
			if _, after, ok := strings.Cut("\n"+document, "\nkind: "); ok {
				kind, _, _ := strings.Cut(after, "\n")
				kinds[kind] = true
			}
		}
	}
	for _, kind := range []string{"Deployment", "ClusterRole", "CustomResourceDefinition", "ConfigMap", "NetworkPolicy", "Lease"} {
		if !kinds[kind] {
			t.Errorf("the chart renders no %s", kind)
		}
	}
}
