package scaffold_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/cmd/app/scaffold"
)

// TestManifestSchema: the manifest of a project, with the tutorial's plugin or each point, names the schema beside it and fits that.
func TestManifestSchema(t *testing.T) {
	for _, language := range scaffold.Languages() {
		for _, points := range [][]string{nil, {"filter", "score"}, scaffold.Points()} {
			dir := filepath.Join(t.TempDir(), "rack-aware")
			if _, err := scaffold.Write(dir, language, points); err != nil {
				t.Fatal(err)
			}
			var manifest map[string]any
			read(t, filepath.Join(dir, "manifest.json"), &manifest)
			named, _ := manifest["$schema"].(string)
			var schema jsonschema.Schema
			read(t, filepath.Join(dir, named), &schema)
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(manifest); err != nil {
				t.Errorf("%s, points %v: %v", language, points, err)
			}
		}
	}
}

// TestVersions: the SDKs have one version, and the table of docs/authors.md ends with it and with the ABI.
func TestVersions(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	for path, line := range map[string]string{
		"abi/sdk/rust/Cargo.toml":                  `version = "%s"`,
		"abi/sdk/c/berth.h":                        `#define BERTH_SDK_VERSION "%s"`,
		"abi/sdk/assemblyscript/package.json":      `"version": "%s",`,
		"abi/sdk/assemblyscript/package-lock.json": `"version": "%s",`,
		"cmd/app/scaffold/go.txtar":                "require github.com/berth-scheduler/berth v%s\n",
		"docs/authors.md":                          fmt.Sprintf("\n| %%[1]s | %d.%d | %%[1]s |\n\n", abi.Major, abi.Minor),
	} {
		text, err := os.ReadFile(filepath.Join(top, path))
		if want := fmt.Sprintf(line, scaffold.Version); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s (%v) does not have %q", path, err, want)
		}
	}
}

// TestLinks: the SDK's README in a project has no link to files that only Berth's repository has.
func TestLinks(t *testing.T) {
	for _, language := range scaffold.Languages() {
		dir := filepath.Join(t.TempDir(), "my")
		files, err := scaffold.Write(dir, language, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, file := range files {
			if filepath.Base(file) != "README.md" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || strings.Contains(string(text), "](../") {
				t.Errorf("%s: %s links out of the project (%v)", language, file, err)
			}
			whole += strings.Count(string(text), "](https://github.com/berth-scheduler/berth/blob/main/docs/authors.md#rules)")
		}
		if whole == 0 {
			t.Errorf("%s: no README links to the rules", language)
		}
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
