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
		"driver": {
			"{apiVersion: storage.k8s.io/v1beta1, kind: CSIDriver, metadata: {name: a}, spec: {}}\n", "1 CSIDriver of storage.k8s.io/v1beta1",
			"write apiVersion: storage.k8s.io/v1",
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
			o, err := LoadTemplates(t.Context(), []string{file}, nil, false)
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
		o, err := LoadTemplates(t.Context(), []string{file}, nil, false)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("only a patch of a Deployment: %v", err)
		case want == "" && (err != nil || o.LeftOut != "1 Deployment without containers" || len(o.Pods) != 1):
			t.Errorf("a patch of a Deployment beside a pod: %+v, %v", o, err)
		}
	}
}

// TestPatchesBesideWorkloads: a patch of a workload that is there is left out, whichever comes first and whatever it patches, and
// is no second workload of that name. Two whole ones are a mistake.
func TestPatchesBesideWorkloads(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	const whole = head + "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, " +
		"spec: {containers: [{name: c, image: i}]}}}\n"
	const node = "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n"
	for patch, want := range map[string]string{
		head + "spec: {replicas: 5}\n":                                                                "1 Deployment without containers",
		head + "spec: {template: {spec: {nodeSelector: {disk: ssd}}}}\n":                              "1 Deployment without containers",
		head + "spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}\n": "1 Deployment without selector",
		whole: "",
	} {
		for _, text := range []string{whole + "---\n" + patch, patch + "---\n" + whole} {
			file := filepath.Join(t.TempDir(), "a.yaml")
			if err := os.WriteFile(file, []byte(text+"---\n"+node), 0o600); err != nil {
				t.Fatal(err)
			}
			asked, err := LoadTemplates(t.Context(), []string{file}, nil, false)
			if want == "" {
				if err == nil || !strings.Contains(err.Error(), "deployment default/web is already at") {
					t.Errorf("two workloads: %v", err)
				}
				continue
			}
			if err != nil || len(asked.Pods) != 1 || asked.Pods[0].Count != 1 || !strings.Contains(asked.LeftOut, want) {
				t.Errorf("asked about %s%v, %+v", text, err, asked)
			}
			cluster, err := LoadCluster(t.Context(), []string{file}, false)
			if err != nil || len(cluster.Warnings) > 0 || !strings.Contains(cluster.LeftOut, want) {
				t.Errorf("a cluster of %s%v, %+v", text, err, cluster)
			}
		}
	}
}
