package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// TestManifests shows the manifests of deploy/ to the API server, those of components
// too, and has each refused when it has a field that there is not. What the
// kustomization lists is applied when the cluster starts, and here once more, as who
// upgrades does.
func TestManifests(t *testing.T) {
	c := start(t)
	deploy := filepath.Join("..", "..", "deploy")
	if err := c.Install(t.Context(), deploy); err != nil {
		t.Error(err)
	}
	objects, err := c.Objects("kube-system")
	if err != nil {
		t.Fatal(err)
	}
	objects = objects.DryRun()
	var kinds []string
	if err := filepath.WalkDir(deploy, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "kustomization.yaml" {
			return err
		}
		folder := filepath.Dir(path)
		names, err := cluster.Manifests(folder)
		if err != nil {
			return err
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				return err
			}
			if err := objects.Apply(t.Context(), text); err != nil {
				t.Errorf("%s: %v", filepath.Join(folder, name), err)
			}
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				err := objects.Apply(t.Context(), []byte(document+"\nnoSuchField: 1\n"))
				if err == nil || !strings.Contains(err.Error(), `unknown field "noSuchField"`) {
					t.Errorf("%s with a field that there is not: %v", filepath.Join(folder, name), err)
				}
			}
			for line := range strings.Lines(string(text)) {
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
		"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Lease", "ConfigMap", "Deployment", "PodDisruptionBudget", "NetworkPolicy",
	} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("there is no %s", kind)
		}
	}
}
