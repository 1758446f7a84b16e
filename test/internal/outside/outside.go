// Package outside runs tests of the module k8s.io/kubernetes that test/go.mod pins with a scheduler that is a
// process: kube-scheduler or berth run. A tree of links to the module, with the small patch of testdata/patch,
// starts it where the tests start theirs. What the tests wait for in the scheduler's cache, they find in one
// that the patch leaves running.
package outside

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// Packages is the folder of the tests in the module.
const Packages = kubernetes + "/test/integration/"

// Schedulers.
const (
	Berth         = "berth"
	KubeScheduler = "kube-scheduler"
)

// Tests are the tests with one scheduler.
type Tests struct {
	// Logs is a new folder for the output of programs, and for configurations and logs of schedulers.
	Logs string

	moduleDir string // of test/go.mod
	folder    string // of programs
	tree      tree
	command   string   // of the scheduler
	env       []string // of programs, without the command of the scheduler
}

// New makes the tree, and builds the schedulers and etcd. moduleDir is the folder of test/go.mod.
func New(ctx context.Context, moduleDir, scheduler string, progress io.Writer) (*Tests, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	t := &Tests{moduleDir: moduleDir, folder: filepath.Join(filepath.Dir(moduleDir), "bin", "upstream")}
	if t.tree, err = makeTree(ctx, moduleDir, filepath.Join(cache, "berth", "upstream")); err != nil {
		return nil, err
	}
	binaries, err := cluster.Build(ctx, moduleDir, "", progress)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(t.folder, 0o755); err != nil {
		return nil, err
	}
	if t.Logs, err = os.MkdirTemp(t.folder, scheduler+"-"); err != nil {
		return nil, err
	}
	t.env = slices.Concat(os.Environ(), []string{
		"UPSTREAM_FOLDER=" + t.Logs,
		"PATH=" + filepath.Dir(binaries.Etcd) + string(os.PathListSeparator) + os.Getenv("PATH"),
	})
	t.command = binaries.Berth + " run"
	if scheduler == KubeScheduler {
		t.command = binaries.KubeScheduler
		t.env = append(t.env, "UPSTREAM_GATES=yes")
	}
	return t, nil
}

// Dir is the folder of a package under test/integration in the tree.
func (t *Tests) Dir(pkg string) string {
	return filepath.Join(t.tree.dir, "test", "integration", filepath.FromSlash(pkg))
}

// List returns what go list -f prints for patterns of packages of the module.
func (t *Tests) List(ctx context.Context, format string, patterns ...string) (string, error) {
	return cluster.GoList(ctx, t.moduleDir, append([]string{"-modfile=" + t.tree.modfile, "-f", format}, patterns...)...)
}
