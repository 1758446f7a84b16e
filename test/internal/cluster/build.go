package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Binaries are the paths of the programs a cluster is made of.
type Binaries struct {
	Etcd, APIServer, KubeScheduler, Berth string
}

// component is a program of the module that test/go.mod pins.
type component struct {
	pkg, name string
}

// components are all tools of test/go.mod that run in a cluster, the quickest to
// build first.
func components() []component {
	return []component{
		{pkg: "go.etcd.io/etcd/server/v3", name: "etcd"},
		{pkg: "k8s.io/kubernetes/cmd/kube-scheduler", name: "kube-scheduler"},
		{pkg: "k8s.io/kubernetes/cmd/kube-apiserver", name: "kube-apiserver"},
	}
}

// Build builds what a cluster needs. moduleDir is the folder of test/go.mod; the
// module of berth lies above it. Programs of Kubernetes and etcd are kept in the
// user's cache, by their versions, and built once; berth is built each time, into bin/.
// What it is about to do goes to progress, for a cold build takes minutes.
func Build(ctx context.Context, moduleDir string, progress io.Writer) (Binaries, error) {
	versions, err := versions(ctx, moduleDir)
	if err != nil {
		return Binaries{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Binaries{}, fmt.Errorf("folder for programs: %w", err)
	}
	dir := filepath.Join(cache, "berth", "e2e", versions.key())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("folder for programs: %w", err)
	}
	paths := make(map[string]string)
	for _, c := range components() {
		paths[c.name] = filepath.Join(dir, c.name)
		if _, err := os.Stat(paths[c.name]); err == nil {
			continue
		} else if !errors.Is(err, os.ErrNotExist) {
			return Binaries{}, err
		}
		fmt.Fprintf(progress, "building %s into %s\n", c.name, dir)
		flags := "-s -w -X k8s.io/component-base/version.gitVersion=" + versions.kubernetes
		if err := build(ctx, moduleDir, paths[c.name], c.pkg, flags); err != nil {
			return Binaries{}, err
		}
	}
	// In the tree that it is of: another one may be under test at the same time.
	berth := filepath.Join(filepath.Dir(moduleDir), "bin", "e2e", "berth")
	if err := os.MkdirAll(filepath.Dir(berth), 0o755); err != nil {
		return Binaries{}, fmt.Errorf("folder for programs: %w", err)
	}
	if err := build(ctx, filepath.Dir(moduleDir), berth, "./cmd/berth", ""); err != nil {
		return Binaries{}, err
	}
	return Binaries{Etcd: paths["etcd"], APIServer: paths["kube-apiserver"], KubeScheduler: paths["kube-scheduler"], Berth: berth}, nil
}

// build puts a program at path, or leaves what is there: another build may be
// writing the same one.
func build(ctx context.Context, dir, path, pkg, ldflags string) error {
	unfinished, err := os.MkdirTemp(filepath.Dir(path), ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished) //nolint:errcheck // a left-over of a failed build is harmless
	program := filepath.Join(unfinished, filepath.Base(path))
	command := exec.CommandContext(ctx, "go", "build", "-ldflags", ldflags, "-o", program, pkg)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", strings.Join(command.Args, " "), dir, err, out)
	}
	return os.Rename(program, path)
}

// pinned is the versions that programs are kept by.
type pinned struct {
	kubernetes, etcd string
}

func (p pinned) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s", runtime.Version(), runtime.GOARCH))
	return fmt.Sprintf("kubernetes-%s-etcd-%s-%s", p.kubernetes, p.etcd, hex.EncodeToString(sum[:4]))
}

func versions(ctx context.Context, moduleDir string) (pinned, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes", "go.etcd.io/etcd/server/v3")
	command.Dir = moduleDir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return pinned{}, fmt.Errorf("%s in %s: %w\n%s", strings.Join(command.Args, " "), moduleDir, err, &stderr)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 2 {
		return pinned{}, fmt.Errorf("%s printed %q, not two versions", strings.Join(command.Args, " "), out)
	}
	return pinned{kubernetes: fields[0], etcd: fields[1]}, nil
}
