package upstream_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/kubernetes/pkg/features" // adds its gates

	"github.com/berth-scheduler/berth/runtime/config"
)

// TestGates: the feature gates that Berth knows are those of kube-scheduler, with its defaults and stages, and each gate
// that the code of kube-scheduler asks about is one of a scheduler.
func TestGates(t *testing.T) {
	registered := feature.DefaultMutableFeatureGate.DeepCopy()
	if err := logsapi.AddFeatureGates(registered); err != nil { // as kube-scheduler's command does
		t.Fatal(err)
	}
	theirs := registered.GetAll()
	delete(theirs, "AllAlpha")
	delete(theirs, "AllBeta")
	asked := askedFor(t)
	for _, g := range config.KnownGates() {
		spec, ok := theirs[featuregate.Feature(g.Name)]
		if !ok {
			t.Errorf("kube-scheduler has no gate %s", g.Name)
			continue
		}
		delete(theirs, featuregate.Feature(g.Name))
		if want := string(spec.PreRelease); g.Stage != want || g.On != spec.Default || g.Locked != spec.LockToDefault {
			t.Errorf("%s: got stage %q, on %v, locked %v; want %q, %v, %v", g.Name, g.Stage, g.On, g.Locked, want, spec.Default, spec.LockToDefault)
		}
		if asked[g.Name] && g.Elsewhere {
			t.Errorf("%s is for other components, but the scheduler's code asks about it", g.Name)
		}
	}
	for name := range theirs {
		t.Errorf("gate %s is missing", name)
	}
}

// askedFor returns the gates of package features that the code of kube-scheduler names.
func askedFor(t *testing.T) map[string]bool {
	out := make(map[string]bool)
	named := regexp.MustCompile(`\bfeatures\.([A-Z][A-Za-z0-9]+)`)
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []string{"pkg/scheduler", "cmd/kube-scheduler"} {
		err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(dir)), tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, match := range named.FindAllSubmatch(source, -1) {
				out[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 30 {
		t.Fatalf("kube-scheduler's code names %d gates", len(out))
	}
	return out
}
