package outside

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// kubernetes is the module that has the tests.
const kubernetes = "k8s.io/kubernetes"

// patch has the files that are added to the module: where a function of upstream is renamed, a function
// of ours has its name.
//
//go:embed testdata/patch
var patch embed.FS

// more are the hashes of modules that only upstream's tests need. For another version of Kubernetes, go list -mod=mod
// -modfile=FILE.mod -deps -test of the tests adds to FILE.sum what is missing.
//
//go:embed testdata/go.sum
var more []byte

// rename gives a function of upstream another name, under which the patch calls it.
type rename struct {
	file, from, to string
}

func renames() []rename {
	const util, server = "test/integration/util/util.go", "test/integration/framework/test_server.go"
	const perf = "test/integration/scheduler_perf/"
	return []rename{
		{file: "pkg/scheduler/scheduler.go", from: "New", to: "newInside"},
		{file: "pkg/scheduler/scheduler.go", from: "Scheduler.Run", to: "runInside"},
		{file: server, from: "StartTestServer", to: "startTestServerInside"},
		{file: "test/integration/framework/goleak.go", from: "goleakFindRetry", to: "findLeaksInside"},
		{file: "test/integration/scheduler/queueing/queue.go", from: "RunTestCoreResourceEnqueue", to: "runTestCoreResourceEnqueueInside"},
		{file: perf + "scheduler_perf.go", from: "applyThreshold", to: "applyThresholdInside"},
		{file: perf + "scheduler_perf.go", from: "checkEmptyInFlightEvents", to: "checkEmptyInside"},
		{file: perf + "scheduler_perf.go", from: "params.get", to: "getInside"},
		{file: perf + "util.go", from: "mustSetupCluster", to: "mustSetupInside"},
		{file: perf + "util.go", from: "newMetricsCollector", to: "newMetricsCollectorInside"},
		{file: perf + "util.go", from: "newMemoryCollector", to: "newMemoryCollectorInside"},
		{file: perf + "util.go", from: "newThroughputCollector", to: "newThroughputCollectorInside"},
		{file: util, from: "SyncSchedulerInformerFactory", to: "syncInside"},
		{file: util, from: "WaitForNodesInCache", to: "waitForNodesInside"},
		{file: util, from: "WaitCachedPodsStable", to: "waitCachedPodsInside"},
		{file: util, from: "WaitForSchedulerCacheCleanup", to: "waitForCleanupInside"},
		{file: util, from: "WaitForReflection", to: "waitForReflectionInside"},
	}
}

// edit exchanges one piece of text of upstream's.
type edit struct {
	file, from, to string
}

func edits() []edit {
	return []edit{
		// On a busy machine the API server is not healthy after ten seconds; what then ends it ends the process, with all
		// cases that follow.
		{
			file: "test/integration/framework/test_server.go",
			from: "wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true,",
			to:   "wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 5*time.Minute, true,",
		},
	}
}

// tree is a copy of the module with the patch.
type tree struct {
	dir     string // of the patched module
	modfile string // replaces the module by it
}

// makeTree makes the tree, of links, under dir. What is there already is kept if it is right, so that
// the build cache holds. moduleDir is the folder of test/go.mod.
func makeTree(ctx context.Context, moduleDir, dir string) (tree, error) {
	out, err := cluster.GoList(ctx, moduleDir, "-m", "-f", "{{.Version}} {{.Dir}}", kubernetes)
	if err != nil {
		return tree{}, err
	}
	version, source, ok := strings.Cut(strings.TrimSpace(out), " ")
	if !ok {
		return tree{}, fmt.Errorf("%s is not in the module cache: run go mod download %s in %s", kubernetes, kubernetes, moduleDir)
	}
	t := tree{dir: filepath.Join(dir, version), modfile: filepath.Join(dir, version+".mod")}
	if err := link(source, t.dir); err != nil {
		return tree{}, fmt.Errorf("tree of %s: %w", kubernetes, err)
	}
	changed, err := patched(source)
	if err != nil {
		return tree{}, err
	}
	for name, data := range changed {
		if err := replace(filepath.Join(t.dir, filepath.FromSlash(name)), data); err != nil {
			return tree{}, err
		}
	}
	return t, t.writeModfile(moduleDir)
}

// link makes dir a copy of source, of hard links where both are on one device.
func link(source, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), ".linking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished) //nolint:errcheck // a left-over of a failure is harmless
	err = filepath.WalkDir(source, func(from string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(unfinished, strings.TrimPrefix(from, source))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if os.Link(from, to) == nil {
			return nil
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

// patched returns the files of the tree that differ from those of the module, by path.
func patched(source string) (map[string][]byte, error) {
	const root = "testdata/patch"
	files := make(map[string][]byte)
	err := fs.WalkDir(patch, root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[strings.TrimPrefix(name, root+"/")], err = patch.ReadFile(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	change := func(name string, by func([]byte) ([]byte, error)) error {
		src, ok := files[name]
		if !ok {
			var err error
			if src, err = os.ReadFile(filepath.Join(source, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
		var err error
		files[name], err = by(src)
		return err
	}
	for _, r := range renames() {
		if err := change(r.file, r.apply); err != nil {
			return nil, err
		}
	}
	for _, e := range edits() {
		if err := change(e.file, e.apply); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// apply exchanges the text, which must be there once.
func (e edit) apply(src []byte) ([]byte, error) {
	if n := bytes.Count(src, []byte(e.from)); n != 1 {
		return nil, fmt.Errorf("%s has %q %d times: the patch was made for another version", path.Join(kubernetes, e.file), e.from, n)
	}
	return bytes.Replace(src, []byte(e.from), []byte(e.to), 1), nil
}

// apply renames the declaration, not the calls: these reach the patch.
func (r rename) apply(src []byte) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, r.file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || qualified(f) != r.from {
			continue
		}
		at := set.Position(f.Name.Pos()).Offset
		return bytes.Join([][]byte{src[:at], src[at+len(f.Name.Name):]}, []byte(r.to)), nil
	}
	return nil, fmt.Errorf("%s has no function %s: the patch was made for another version", path.Join(kubernetes, r.file), r.from)
}

// qualified is the name of a function, or of a method as in Type.Method.
func qualified(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return ""
}

// replace writes a file unless it has these bytes. The old one is removed first: it may be a link into
// the module cache.
func replace(name string, data []byte) error {
	old, err := os.ReadFile(name)
	if err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err == nil {
		err = os.Remove(name)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// writeModfile writes test/go.mod with the module replaced by the tree.
func (t tree) writeModfile(moduleDir string) error {
	data, err := os.ReadFile(filepath.Join(moduleDir, "go.mod"))
	if err != nil {
		return err
	}
	const ours = "=> ../\n"
	if bytes.Count(data, []byte(ours)) != 1 {
		return fmt.Errorf("%s/go.mod does not replace one module by %q", moduleDir, "../")
	}
	data = bytes.Replace(data, []byte(ours), fmt.Appendf(nil, "=> %s\n", filepath.Dir(moduleDir)), 1)
	data = fmt.Appendf(data, "\nreplace %s => %s\n", kubernetes, t.dir)
	if err := replace(t.modfile, data); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(moduleDir, "go.sum"))
	if err != nil {
		return err
	}
	return replace(strings.TrimSuffix(t.modfile, ".mod")+".sum", slices.Concat(sums, more))
}
