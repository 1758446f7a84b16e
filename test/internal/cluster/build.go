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

// Binaries are the paths of the programs that make up a cluster.
type Binaries struct {
	Etcd, APIServer, KubeScheduler, Berth string
}

// component is a program of a module that pins its version.
type component struct {
	pkg, name string
}

// apiServer is the component that a separate module may pin to another version.
const apiServer = "kube-apiserver"

// components are all tools of test/go.mod that run in a cluster, the quickest to build first.
func components() []component {
	return []component{
		{pkg: "go.etcd.io/etcd/server/v3", name: "etcd"},
		{pkg: "k8s.io/kubernetes/cmd/kube-scheduler", name: "kube-scheduler"},
		{pkg: "k8s.io/kubernetes/cmd/kube-apiserver", name: apiServer},
	}
}

// Build builds the programs of a cluster. moduleDir is the folder of test/go.mod; the module of
// berth is in its parent. serverDir (optional) is the folder of a go.mod that pins another
// version of Kubernetes for the API server. Programs of Kubernetes and etcd are kept in the
// user's cache, by version, and built once; berth is built each time, into bin/. Progress
// messages go to progress, because a cold build takes minutes.
func Build(ctx context.Context, moduleDir, serverDir string, progress io.Writer) (Binaries, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Binaries{}, fmt.Errorf("folder for programs: %w", err)
	}
	paths := make(map[string]string)
	for _, c := range components() {
		from := moduleDir
		if c.name == apiServer && serverDir != "" {
			from = serverDir
		}
		pins, err := versions(ctx, moduleDir, from)
		if err != nil {
			return Binaries{}, err
		}
		dir := filepath.Join(cache, "berth", "e2e", pins.key())
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Binaries{}, fmt.Errorf("folder for programs: %w", err)
		}
		paths[c.name] = filepath.Join(dir, c.name)
		if _, err := os.Stat(paths[c.name]); err == nil {
			continue
		} else if !errors.Is(err, os.ErrNotExist) {
			return Binaries{}, err
		}
		fmt.Fprintf(progress, "building %s into %s\n", c.name, dir)
		flags := "-s -w -X k8s.io/component-base/version.gitVersion=" + pins.kubernetes
		if err := build(ctx, from, paths[c.name], c.pkg, flags); err != nil {
			return Binaries{}, err
		}
	}
	berth, err := BuildOwn(ctx, moduleDir, ".", "./cmd/berth")
	if err != nil {
		return Binaries{}, err
	}
	return Binaries{Etcd: paths["etcd"], APIServer: paths[apiServer], KubeScheduler: paths["kube-scheduler"], Berth: berth}, nil
}

// BuildOwn builds a program of this repository and returns its path. dir is the folder of the
// program's module, from the top of the repository; moduleDir is as for Build.
func BuildOwn(ctx context.Context, moduleDir, dir, pkg string) (string, error) {
	top := filepath.Dir(moduleDir)
	// In its own working tree: another one may be under test at the same time.
	path := filepath.Join(top, "bin", "e2e", filepath.Base(filepath.Join(dir, pkg)))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("folder for programs: %w", err)
	}
	return path, build(ctx, filepath.Join(top, dir), path, pkg, "")
}

// build builds a program at path, unless it exists: another build may be writing the same one.
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

// pinned is the versions under which programs are kept.
type pinned struct {
	kubernetes, etcd string
}

func (p pinned) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s", runtime.Version(), runtime.GOARCH))
	return fmt.Sprintf("kubernetes-%s-etcd-%s-%s", p.kubernetes, p.etcd, hex.EncodeToString(sum[:4]))
}

// versions reads the version of etcd that the tests' module pins, and that of Kubernetes that
// another one pins.
func versions(ctx context.Context, moduleDir, kubernetesDir string) (out pinned, err error) {
	if out.etcd, err = version(ctx, moduleDir, "go.etcd.io/etcd/server/v3"); err != nil {
		return pinned{}, err
	}
	out.kubernetes, err = version(ctx, kubernetesDir, "k8s.io/kubernetes")
	return out, err
}

func version(ctx context.Context, dir, module string) (string, error) {
	out, err := GoList(ctx, dir, "-m", "-f", "{{.Version}}", module)
	return strings.TrimSpace(out), err
}

// GoList returns what go list prints in a folder.
func GoList(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w\n%s", strings.Join(command.Args, " "), dir, err, &stderr)
	}
	return string(out), nil
}
