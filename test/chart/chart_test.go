package chart

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the rendered manifests of testdata instead of comparing with them")

const deploy = "../../deploy"

// render returns the manifests of the chart as one text, in the order of templates.
func render(namespace string, values []byte) (string, error) {
	c, err := loader.LoadDir(filepath.Join(deploy, "chart"))
	if err != nil {
		return "", err
	}
	given, err := chartutil.ReadValues(values)
	if err != nil {
		return "", err
	}
	release := chartutil.ReleaseOptions{Name: "berth", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, given, release, nil) // checks the schema
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" {
			fmt.Fprintf(&out, "# %s\n---\n%s\n", name, text)
		}
	}
	return out.String(), nil
}

// objects returns the objects of documents by kind and name.
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if o == nil {
			continue
		}
		meta := o["metadata"].(map[string]any)
		key := fmt.Sprintf("%v %v %v", o["kind"], meta["namespace"], meta["name"])
		if out[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		out[key] = o
	}
	return out
}

// TestDefaultsAreDeploy: with its default values the chart installs what kustomize does, but for
// the name and tag of the image, and for how a change of the configuration is noticed.
func TestDefaultsAreDeploy(t *testing.T) {
	text, err := render("kube-system", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := objects(t, text)
	want := map[string]map[string]any{}
	for _, file := range []string{"rbac", "viewer", "lease", "deployment", "networkpolicy"} {
		text, err := os.ReadFile(filepath.Join(deploy, file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(want, objects(t, string(text)))
	}
	pod := func(all map[string]map[string]any) map[string]any {
		return all["Deployment kube-system berth"]["spec"].(map[string]any)["template"].(map[string]any)
	}
	container := func(pod map[string]any) map[string]any {
		return pod["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	}
	if image := container(pod(got))["image"]; image != fmt.Sprint(container(pod(want))["image"], ":latest") {
		t.Errorf("image %v", image)
	}
	container(pod(got))["image"] = container(pod(want))["image"]
	if sum := pod(got)["metadata"].(map[string]any)["annotations"]; sum == nil {
		t.Error("a change of the configuration starts no new replicas")
	}
	delete(pod(got)["metadata"].(map[string]any), "annotations")
	config, err := os.ReadFile(filepath.Join(deploy, "scheduler.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "ConfigMap kube-system berth-config"
	if data, _ := got[name]["data"].(map[string]any)["scheduler.yaml"].(string); !reflect.DeepEqual(decoded(t, []byte(data)), decoded(t, config)) {
		t.Errorf("the configuration is\n%s", data)
	}
	delete(got, name)
	for key := range want {
		if !reflect.DeepEqual(got[key], want[key]) {
			a, _ := yaml.Marshal(got[key])  // what was decoded can be encoded
			b, _ := yaml.Marshal(want[key]) // likewise
			t.Errorf("%s is\n%s\nwant\n%s", key, a, b)
		}
	}
	for key := range got {
		if want[key] == nil {
			t.Errorf("the chart also has %s", key)
		}
	}
}

// TestTenantsAreDeploy: with tenants.kinds the chart also installs what the component deploy/tenants does.
func TestTenantsAreDeploy(t *testing.T) {
	text, err := render("kube-system", []byte("tenants: {kinds: true}"))
	if err != nil {
		t.Fatal(err)
	}
	got := objects(t, text)
	files, err := filepath.Glob(filepath.Join(deploy, "crds", "*.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, filepath.Join(deploy, "tenants", "rbac.yaml")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range objects(t, string(text)) {
			if !reflect.DeepEqual(got[key], want) {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
	}
}

func decoded(t *testing.T, text []byte) (out map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRendered renders the chart with the values of each testdata/*.values.yaml, and compares
// the manifests with those beside it.
func TestRendered(t *testing.T) {
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".values.yaml")
		t.Run(name, func(t *testing.T) {
			values, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(values), "\n")
			namespace, ok := strings.CutPrefix(first, "# namespace: ")
			if !ok {
				t.Fatalf("%s does not begin with # namespace: NAME", file)
			}
			got, err := render(namespace, values)
			if err != nil {
				t.Fatal(err)
			}
			objects(t, got)
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || !bytes.Equal(want, []byte(got)) {
				t.Errorf("%s differs, %v; run the test with -rewrite, and read the diff:\n%s", golden, err, got)
			}
		})
	}
}

// TestValuesAreChecked: the schema refuses values that the chart does not have, and those that
// would not work.
func TestValuesAreChecked(t *testing.T) {
	for values, want := range map[string]string{
		"replica: 2":                   "replica",
		"replicas: 0":                  "replicas",
		"image: {tag: 5}":              "tag",
		"config: {profiles: []}":       "profiles",
		"config: {leaderElection: {}}": "config",
		"lease: {name: other}":         "name",
		"memory: {plugins: lots}":      "plugins",
		"extraArgs: [plugin-dir=/etc]": "extraArgs",
		"tenants: {kinds: please}":     "kinds",
		"pluginsVolume: {emptyDir: {}, image: {reference: x}}": "pluginsVolume",
	} {
		if _, err := render("kube-system", []byte(values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}
