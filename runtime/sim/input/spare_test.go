package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpare: what no API server would take is left out of a folder of manifests, and a mistake where there is nothing else.
func TestSpare(t *testing.T) {
	const (
		beside = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}\n"
		pods   = "{template: {spec: {containers: [{name: c, image: i}]}}}"
	)
	for name, c := range map[string]struct{ text, leftOut, alone string }{
		"extensions": {
			"{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: a}, spec: " + pods + "}\n---\n" +
				"{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: b}, spec: " + pods + "}\n",
			"2 Deployments of extensions/v1beta1", "Deployment is not supported in version extensions/v1beta1 (write apiVersion: apps/v1)",
		},
		"cronjob": {
			"{apiVersion: batch/v1beta1, kind: CronJob, metadata: {name: a}, spec: {}}\n", "1 CronJob of batch/v1beta1", "write apiVersion: batch/v1",
		},
		"json": {
			`{"apiVersion": "apps/v1beta2", "kind": "DaemonSet", "metadata": {"name": "a"}}` + "\n", "1 DaemonSet of apps/v1beta2",
			"write apiVersion: apps/v1",
		},
		"patch":       {"- {op: replace, path: /spec/replicas, value: 3}\n", "1 JSON patch", "a document must be an object"},
		"values":      {"spec: {replicas: 2}\n---\nimage: {tag: v1}\n", "2 documents without a kind", "the object has no kind"},
		"not a patch": {"- {path: /spec}\n", "", "a document must be an object"},
		"never was": {
			"{apiVersion: apps/v3, kind: Deployment, metadata: {name: a}, spec: " + pods + "}\n", "", "not supported in version apps/v3",
		},
		"no kind": {"{apiVersion: v1, metadata: {name: a}}\n", "", "the object has no kind"},
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		load := func(text string, cluster, strict bool) (string, error) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if cluster {
				o, err := LoadCluster(t.Context(), []string{file}, strict)
				if err != nil {
					return "", err
				}
				return o.LeftOut, nil
			}
			o, err := LoadTemplates(t.Context(), []string{file}, nil)
			if err != nil {
				return "", err
			}
			return o.LeftOut, nil
		}
		for _, cluster := range []bool{false, true} {
			if _, err := load(c.text, cluster, false); err == nil || !strings.Contains(err.Error(), c.alone) {
				t.Errorf("%s alone: %v", name, err)
			}
			leftOut, err := load(c.text+"---\n"+beside, cluster, false)
			if leftOut != c.leftOut || (err == nil) != (c.leftOut != "") {
				t.Errorf("%s: left out %q, %v", name, leftOut, err)
			}
		}
		if _, err := load(c.text+"---\n"+beside, true, true); err == nil || !strings.Contains(err.Error(), c.alone) {
			t.Errorf("%s, strictly: %v", name, err)
		}
	}
	const patch = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {nodeSelector: {a: b}}}}}\n"
	file := filepath.Join(t.TempDir(), "a.yaml")
	for text, want := range map[string]string{patch: "a pod needs a container", patch + "---\n" + beside: ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := LoadTemplates(t.Context(), []string{file}, nil)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("only a patch of a Deployment: %v", err)
		case want == "" && (err != nil || o.LeftOut != "1 Deployment without containers" || len(o.Pods) != 1):
			t.Errorf("a patch of a Deployment beside a pod: %+v, %v", o, err)
		}
	}
}
