package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// TestManifests applies the manifests of deploy/ a second time, as who upgrades does, and
// has one refused that names a field that there is not. The first time is when the
// cluster starts.
func TestManifests(t *testing.T) {
	c := start(t)
	deploy := filepath.Join("..", "..", "deploy")
	if err := c.Install(t.Context(), deploy); err != nil {
		t.Error(err)
	}
	names, err := cluster.Manifests(deploy)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := c.Objects("kube-system")
	if err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(deploy, name))
		if err != nil {
			t.Fatal(err)
		}
		kinds += string(text)
		for _, document := range strings.Split(string(text), "\n---\n") {
			wrong := document + "\nnoSuchField: 1\n"
			if err := objects.Apply(t.Context(), []byte(wrong)); err == nil || !strings.Contains(err.Error(), `unknown field "noSuchField"`) {
				t.Errorf("%s with a field that there is not: %v", name, err)
			}
		}
	}
	for _, kind := range []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Lease", "ConfigMap", "Deployment", "PodDisruptionBudget", "NetworkPolicy"} {
		if !slices.Contains(strings.Split(kinds, "\n"), "kind: "+kind) {
			t.Errorf("there is no %s", kind)
		}
	}
}
