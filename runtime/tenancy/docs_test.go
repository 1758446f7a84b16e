package tenancy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// TestDocs: the objects in docs are read as they are written, nothing in them is invalid, and those of a page
// fit together: all that is left to do is to fetch the modules. TestKinds of test/e2e applies them.
func TestDocs(t *testing.T) {
	for page, want := range map[string]int{"rollouts.md": 2, "tenants.md": 2} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
			if err != nil {
				t.Fatal(err)
			}
			blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
			if len(blocks) < want {
				t.Fatalf("%d blocks of YAML", len(blocks))
			}
			objects := ""
			for _, b := range blocks {
				var fragment struct {
					Kind         string `json:"kind"`
					PluginConfig []struct {
						Args json.RawMessage `json:"args"`
					} `json:"pluginConfig"`
				}
				if err := yaml.Unmarshal(b[1], &fragment); err != nil {
					t.Fatalf("%v in\n%s", err, b[1])
				}
				if fragment.Kind != "" {
					objects += "\n---\n" + string(b[1])
					continue
				}
				if len(fragment.PluginConfig) == 0 {
					t.Errorf("this is neither an object nor pluginConfig:\n%s", b[1])
				}
				for i, c := range fragment.PluginConfig {
					var args v1alpha1.WasmPluginArgs
					if err := strictyaml.Decode(c.Args, 1<<20, &args); err != nil {
						t.Error(err)
					}
					for _, err := range args.Validate(field.NewPath("pluginConfig").Index(i).Child("args")) {
						t.Error(err)
					}
				}
			}
			o := newWorld(t).objects("kind: Namespace\nmetadata: {name: team-a, labels: {example.com/tenant: \"yes\"}}" + objects)
			r := tenancy.Resolve(o, tenancy.Config{Load: func(module.Reference, string) (*module.Loaded, error) { return nil, tenancy.ErrPending }})
			if len(r.Plugins) == 0 {
				t.Error("the page has no plugin")
			}
			for _, p := range r.Plugins {
				if p.Refusal == nil || p.Refusal.Reason != tenancy.Fetching {
					t.Errorf("%s %s: %+v", p.Kind, p.Object, p.Refusal)
				}
			}
			for _, g := range r.Grants {
				if g.Refusal != nil {
					t.Errorf("%s: %+v", g.Object, g.Refusal)
				}
			}
		})
	}
}
