package app

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/sim"
)

// TestLoadNamespaces: the scheduler gets the namespaces of the files.
func TestLoadNamespaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	text := `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"team": "a"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c sim.Config
	options := inputOptions{cluster: []string{path}}
	if _, _, err := options.load(t.Context(), &c, 0); err != nil {
		t.Fatal(err)
	}
	if len(c.Namespaces) != 1 || c.Namespaces[0].Labels["team"] != "a" || c.Namespaces[0].Labels[v1.LabelMetadataName] != "team-a" {
		t.Errorf("namespaces are %v", c.Namespaces)
	}
}
