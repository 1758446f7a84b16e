package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

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
