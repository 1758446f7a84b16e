package v1alpha1

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// described is what this test reads of a CustomResourceDefinition's schema.
type described struct {
	Description string               `json:"description"`
	Properties  map[string]described `json:"properties"`
	Items       *described           `json:"items"`
}

// TestExplained: kubectl explain says something about each field of each kind.
func TestExplained(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/crds/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	fields := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema described `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			fields += explained(t, crd.Spec.Names.Kind, &v.Schema.OpenAPIV3Schema)
		}
	}
	if fields < 60 {
		t.Errorf("%d fields; the test does not read the schemas", fields)
	}
}

// explained counts the fields below a schema, itself included.
func explained(t *testing.T, path string, s *described) int {
	if s.Description == "" {
		t.Errorf("%s has no description. Remedy: a comment on the field in runtime/api/v1alpha1, then make generate", path)
	}
	n := 1
	for name, field := range s.Properties {
		if name == "metadata" { // the API server describes it
			continue
		}
		n += explained(t, path+"."+name, &field)
	}
	if s.Items != nil {
		for name, field := range s.Items.Properties {
			n += explained(t, path+"[]."+name, &field)
		}
	}
	return n
}
