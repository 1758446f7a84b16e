package chart

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
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
// the name and tag of the image, and for the name of the ConfigMap.
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
	const name = "ConfigMap kube-system "
	config, err := os.ReadFile(filepath.Join(deploy, "scheduler.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	volume := pod(got)["spec"].(map[string]any)["volumes"].([]any)[0].(map[string]any)["configMap"].(map[string]any)
	made := got[name+volume["name"].(string)]
	if made == nil {
		t.Fatalf("there is no ConfigMap %v", volume["name"])
	}
	if data, _ := made["data"].(map[string]any)["scheduler.yaml"].(string); !reflect.DeepEqual(decoded(t, []byte(data)), decoded(t, config)) {
		t.Errorf("the configuration is\n%s", data)
	}
	delete(got, name+volume["name"].(string))
	volume["name"] = "berth-config" // to which kustomize adds a hash, too
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
			if want["kind"] == "CustomResourceDefinition" { // which outlasts the release, and so do the objects of its kind
				want["metadata"].(map[string]any)["annotations"].(map[string]any)["helm.sh/resource-policy"] = "keep"
			}
			if !reflect.DeepEqual(got[key], want) {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
	}
}

// TestConfigIsKept: each configuration has a ConfigMap of its own, which cannot change and which later releases keep, so that
// kubectl rollout undo returns to the one before.
func TestConfigIsKept(t *testing.T) {
	seen := map[string]bool{}
	for _, values := range []string{"", "config: {parallelism: 8}", "config: {parallelism: 9}", "lease: {name: kube-scheduler}"} {
		text, err := render("kube-system", []byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for key, o := range objects(t, text) {
			if o["kind"] != "ConfigMap" {
				continue
			}
			policy := o["metadata"].(map[string]any)["annotations"].(map[string]any)["helm.sh/resource-policy"]
			if seen[key] || o["immutable"] != true || policy != "keep" {
				t.Errorf("with %q it is %s, immutable: %v, policy: %v", values, key, o["immutable"], policy)
			}
			seen[key] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("there are %v", seen)
	}
}

// TestPathsCanBeMounted: each flag of berth run that takes the path of a file or a folder can have one that values mount.
func TestPathsCanBeMounted(t *testing.T) {
	help := exec.CommandContext(t.Context(), "go", "run", "./cmd/berth", "run", "--help")
	help.Dir = filepath.Join("..", "..")
	out, err := help.Output()
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +--([a-z-]+) (?:FILE|DIR|MODULE)\b`).FindAllStringSubmatch(string(out), -1)
	if len(flags) < 12 {
		t.Fatalf("found are %q in\n%s", flags, out)
	}
	for _, flag := range flags {
		dir := "/mnt/" + flag[1]
		text, err := render("kube-system", fmt.Appendf(nil, "extraArgs: [--%s=%s/x]\nvolumes: [{name: more, emptyDir: {}}]\n"+
			"volumeMounts: [{name: more, mountPath: %s}]\n", flag[1], dir, dir))
		if err != nil {
			t.Errorf("--%s: %v", flag[1], err)
			continue
		}
		pod := objects(t, text)["Deployment kube-system berth"]["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		container := pod["containers"].([]any)[0].(map[string]any)
		args := container["args"].([]any)
		if last := args[len(args)-1]; last != fmt.Sprintf("--%s=%s/x", flag[1], dir) { // of several, the last one counts
			t.Errorf("--%s is %v", flag[1], last)
		}
		volumes := map[any]bool{}
		for _, v := range pod["volumes"].([]any) {
			name := v.(map[string]any)["name"]
			if volumes[name] {
				t.Errorf("there are two volumes %v", name)
			}
			volumes[name] = true
		}
		mounts := map[string]bool{}
		for _, m := range container["volumeMounts"].([]any) {
			mount := m.(map[string]any)
			mounts[mount["mountPath"].(string)] = volumes[mount["name"]] && mount["readOnly"] == nil
		}
		if !mounts[dir] {
			t.Errorf("--%s: nothing is mounted at %s: %v", flag[1], dir, mounts)
		}
		for _, arg := range args { // what the chart itself names
			_, path, _ := strings.Cut(arg.(string), "=")
			_, at := mounts[path]
			if _, in := mounts[filepath.Dir(path)]; strings.HasPrefix(path, "/") && !at && !in {
				t.Errorf("nothing is mounted for %s", arg)
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

// TestAllValuesAreRendered: the values of testdata have another one for each default.
func TestAllValuesAreRendered(t *testing.T) {
	defaults, err := chartutil.ReadValuesFile(filepath.Join(deploy, "chart", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	files, err := filepath.Glob("testdata/*.values.yaml")
	for _, file := range files {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			t.Fatal(err)
		}
		given = chartutil.CoalesceTables(given, values)
	}
	if err != nil || len(given) == 0 {
		t.Fatal(files, err)
	}
	for name, value := range defaults {
		if _, isSwitch := value.(bool); !isSwitch && reflect.DeepEqual(given[name], value) || given[name] == nil {
			t.Errorf("no values of testdata change %s, which is %v", name, value)
		}
	}
}

// TestValuesAreChecked: the schema refuses values that the chart does not have, and those that
// would not work.
func TestValuesAreChecked(t *testing.T) {
	for values, want := range map[string]string{
		"replica: 2":                                           "replica",
		"replicas: 0":                                          "replicas",
		"image: {tag: 5}":                                      "tag",
		"config: {profiles: []}":                               "profiles",
		"config: {leaderElection: {}}":                         "config",
		"lease: {name: other}":                                 "name",
		"memory: {plugins: lots}":                              "plugins",
		"extraArgs: [plugin-dir=/etc]":                         "extraArgs",
		"tenants: {kinds: please}":                             "kinds",
		"image: {pullPolicy: Perhaps}":                         "pullPolicy",
		"port: 0":                                              "port",
		"volumeMounts: [{name: x}]":                            "mountPath",
		"podMonitor: {token: {key: null}}":                     "key",
		"serviceAccount: {name: ''}":                           "name",
		"pluginsVolume: {emptyDir: {}, image: {reference: x}}": "pluginsVolume",
	} {
		if _, err := render("kube-system", []byte(values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}
