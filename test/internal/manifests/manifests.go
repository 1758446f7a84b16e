// Package manifests renders deploy/ with kustomize's own library, as kubectl apply -k does:
// as it is, and in each variant that docs/run.md describes.
package manifests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Variant is a way to install Berth.
type Variant struct {
	Name string
	// Edit (optional) changes the files of deploy/, whose paths are relative to it, as
	// docs/run.md tells the reader to.
	Edit func(files map[string]string) error
}

// Beside is Berth beside kube-scheduler: deploy/ as it is.
func Beside() Variant { return Variant{Name: "beside"} }

// TakeOver has a profile for all pods, and the lease of kube-scheduler.
func TakeOver() Variant {
	return Variant{Name: "takeover", Edit: func(files map[string]string) error {
		return replace(files, "scheduler.yaml",
			"resourceName: berth\n", "resourceName: kube-scheduler\n",
			"- schedulerName: berth\n", "- schedulerName: berth\n- schedulerName: default-scheduler\n")
	}}
}

// PatchPods lets Berth patch pods, for plugins and extenders that need it.
func PatchPods() Variant {
	return Variant{Name: "patch-pods", Edit: func(files map[string]string) error {
		return uncomment(files, "components:", "- patch-pods")
	}}
}

// Tenants has the kinds of berth.dev and the roles of those who write them.
func Tenants() Variant {
	return Variant{Name: "tenants", Edit: func(files map[string]string) error {
		return uncomment(files, "components:", "- tenants")
	}}
}

// Monitored is for a cluster with the Prometheus operator.
func Monitored() Variant {
	return Variant{Name: "monitored", Edit: func(files map[string]string) error {
		return uncomment(files, "- podmonitor.yaml", "- monitoring/alerts.yaml")
	}}
}

// Installed are all variants that are applied with kustomize.
func Installed() []Variant { return []Variant{Beside(), TakeOver(), PatchPods(), Monitored()} }

// Render returns the objects of a variant; deploy is the path of the folder.
func Render(deploy string, v Variant) ([]*unstructured.Unstructured, error) {
	files, err := read(deploy)
	if err != nil {
		return nil, err
	}
	if v.Edit != nil {
		if err := v.Edit(files); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	const root = "/deploy"
	memory := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := memory.WriteFile(filepath.Join(root, name), []byte(text)); err != nil {
			return nil, err
		}
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, root)
	if err != nil {
		return nil, fmt.Errorf("%s: kustomize: %w", v.Name, err)
	}
	var out []*unstructured.Unstructured
	for _, r := range rendered.Resources() {
		object, err := r.Map()
		if err != nil {
			return nil, err
		}
		out = append(out, &unstructured.Unstructured{Object: object})
	}
	return out, nil
}

func read(deploy string) (map[string]string, error) {
	files := make(map[string]string)
	return files, filepath.WalkDir(deploy, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "chart" { // templates of Helm
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(deploy, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
}

// uncomment uncomments the lines of kustomization.yaml that begin with the given texts.
func uncomment(files map[string]string, lines ...string) error {
	for _, line := range lines {
		if err := replace(files, "kustomization.yaml", "\n# "+line, "\n"+line); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces texts that appear once in a file, each by the one after it.
func replace(files map[string]string, name string, oldNew ...string) error {
	for i := 0; i < len(oldNew); i += 2 {
		if n := strings.Count(files[name], oldNew[i]); n != 1 {
			return fmt.Errorf("%s has %q %d times, not once", name, oldNew[i], n)
		}
		files[name] = strings.Replace(files[name], oldNew[i], oldNew[i+1], 1)
	}
	return nil
}
