package laws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// kubernetesVersion is the version of every module that Kubernetes publishes from its staging folder. The minor is the one
// whose k8s.io/kubernetes the oracle in test/ is built from, so that both sides of a comparison are of one release.
const kubernetesVersion = "v0.37.2"

// listedModule is what `go list -m -json` prints of a module.
type listedModule struct {
	Path, Version string
	Replace       *struct{ Path, Version string }
}

func TestStagingModules(t *testing.T) {
	modules, err := moduleGraph()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range checkStaging(modules) {
		t.Error(problem)
	}
}

func moduleGraph() ([]listedModule, error) {
	// With -e a module is listed even if the proxy does not tell when its version was made, which the law need not know.
	out, err := exec.Command("go", "list", "-e", "-m", "-json", "all").Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return nil, fmt.Errorf("go list: %w\n%s", err, exit.Stderr)
		}
		return nil, err
	}
	var modules []listedModule
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var m listedModule
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return modules, nil
		} else if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
}

// checkStaging wants one Kubernetes version, no k8s.io/kubernetes and no replace.
func checkStaging(modules []listedModule) []string {
	// These live under k8s.io but have versions of their own.
	ownVersions := []string{"k8s.io/gengo", "k8s.io/gengo/v2", "k8s.io/klog", "k8s.io/klog/v2", "k8s.io/kube-openapi", "k8s.io/utils"}
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	staging := 0
	for _, m := range modules {
		if m.Replace != nil {
			complain("%s is replaced by %s %s: whoever imports this module would not get the replacement. "+
				"Remedy: require the version instead", m.Path, m.Replace.Path, m.Replace.Version)
		}
		switch {
		case m.Path == "k8s.io/kubernetes":
			complain("the module graph has k8s.io/kubernetes, which cannot be required without 31 replaces. Remedy: use the " +
				"staging modules; code that needs it goes into the module in test/")
		case !strings.HasPrefix(m.Path, "k8s.io/") || slices.Contains(ownVersions, m.Path):
		case m.Version != kubernetesVersion:
			complain("%s is at %s, not %s: staging modules work together only at one version. Remedy: go get %s@%s",
				m.Path, m.Version, kubernetesVersion, m.Path, kubernetesVersion)
		default:
			staging++
		}
	}
	if staging == 0 {
		complain("no module of Kubernetes %s found; the law checked nothing", kubernetesVersion)
	}
	return problems
}

// skewVersions are those of the staging modules of the API servers that make skew runs, by folder of test/skew: of other minors.
func skewVersions() map[string]string {
	return map[string]string{"v1.35": "v0.35.4", "v1.36": "v0.36.3"}
}

// TestReplacedStaging: the modules that have k8s.io/kubernetes replace each staging module by the one of its release.
func TestReplacedStaging(t *testing.T) {
	modules := map[string]string{"test": kubernetesVersion}
	for minor, version := range skewVersions() {
		modules["test/skew/"+minor] = version
	}
	for dir, version := range modules {
		edit := exec.Command("go", "mod", "edit", "-json")
		edit.Dir = dir
		out, err := edit.Output()
		if err != nil {
			t.Fatal(err)
		}
		var file modFile
		if err := json.Unmarshal(out, &file); err != nil {
			t.Fatal(err)
		}
		for _, problem := range checkReplaced(file, version) {
			t.Errorf("%s/go.mod: %s", dir, problem)
		}
	}
	own := kubernetesVersion[:strings.LastIndexByte(kubernetesVersion, '.')+1]
	for minor, version := range skewVersions() {
		if strings.HasPrefix(version, own) || !strings.HasPrefix(version, "v0"+strings.TrimPrefix(minor, "v1")+".") {
			t.Errorf("test/skew/%s is at %s beside %s", minor, version, kubernetesVersion)
		}
	}
	folders, err := os.ReadDir("test/skew")
	if err != nil || len(folders) != len(skewVersions()) {
		t.Errorf("test/skew has %d folders, and staging_test.go %d versions: %v", len(folders), len(skewVersions()), err)
	}
}

// modFile is what `go mod edit -json` prints.
type modFile struct {
	Require []listedModule
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// checkReplaced wants the release of a version of staging modules, and all of them at that version.
func checkReplaced(file modFile, version string) []string {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	release := "v1" + strings.TrimPrefix(version, "v0")
	kubernetes := slices.IndexFunc(file.Require, func(m listedModule) bool { return m.Path == "k8s.io/kubernetes" })
	if kubernetes < 0 || file.Require[kubernetes].Version != release {
		complain("k8s.io/kubernetes is not at %s. Remedy: go get k8s.io/kubernetes@%[1]s, or change the version in staging_test.go", release)
	}
	staging := 0
	for _, r := range file.Replace {
		switch {
		case !strings.HasPrefix(r.Old.Path, "k8s.io/"):
		case r.New.Path != r.Old.Path || r.New.Version != version:
			complain("%s is replaced by %s %s. Remedy: go mod edit -replace %[1]s=%[1]s@%s", r.Old.Path, r.New.Path, r.New.Version, version)
		default:
			staging++
		}
	}
	if staging < 30 {
		complain("%d staging modules are replaced, and k8s.io/kubernetes has 31", staging)
	}
	return problems
}

func TestStagingChecker(t *testing.T) {
	api := listedModule{Path: "k8s.io/api", Version: kubernetesVersion}
	replaced := api
	replaced.Replace = &struct{ Path, Version string }{"example.com/api", "v1.0.0"}
	for _, test := range []struct {
		modules []listedModule
		want    string
	}{
		{[]listedModule{api, {Path: "k8s.io/klog/v2", Version: "v2.140.0"}, {Path: "sigs.k8s.io/yaml", Version: "v1.6.0"}}, ""},
		{[]listedModule{api, {Path: "k8s.io/client-go", Version: "v0.37.1"}}, "k8s.io/client-go is at v0.37.1"},
		{[]listedModule{api, {Path: "k8s.io/kubernetes", Version: "v1.37.2"}}, "has k8s.io/kubernetes"},
		{[]listedModule{replaced}, "is replaced by example.com/api"},
		{nil, "checked nothing"},
	} {
		got := strings.Join(checkStaging(test.modules), "\n")
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("want %q, got %q", test.want, got)
		}
	}
}

func TestReplacedChecker(t *testing.T) {
	right := modFile{Require: []listedModule{{Path: "k8s.io/kubernetes", Version: "v1.37.2"}}}
	for i := range 31 {
		var r struct {
			Old, New struct{ Path, Version string }
		}
		r.Old.Path = fmt.Sprint("k8s.io/", i)
		r.New = r.Old
		r.New.Version = "v0.37.2"
		right.Replace = append(right.Replace, r)
	}
	older, mixed, local := right, right, right
	older.Require = []listedModule{{Path: "k8s.io/kubernetes", Version: "v1.37.1"}}
	mixed.Replace, local.Replace = slices.Clone(right.Replace), slices.Clone(right.Replace)
	mixed.Replace[3].New.Version = "v0.37.1"
	local.Replace[3].New.Path = "../3"
	for _, test := range []struct {
		file modFile
		want string
	}{
		{right, ""}, {older, "k8s.io/kubernetes is not at v1.37.2"}, {mixed, "k8s.io/3 is replaced by k8s.io/3 v0.37.1"},
		{local, "k8s.io/3 is replaced by ../3"}, {modFile{Require: right.Require}, "0 staging modules"},
	} {
		got := strings.Join(checkReplaced(test.file, "v0.37.2"), "\n")
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("want %q, got %q", test.want, got)
		}
	}
}
