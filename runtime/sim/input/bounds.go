package input

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsyaml "sigs.k8s.io/yaml"

	abischema "github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/deploy/crds"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// bounds are the schemas of the kinds of berth.dev. What an API server refuses by them is refused in files, too: the types do not tell a
// field that is 0 from one that is missing. Rules in CEL are for package tenancy.
type bounds struct {
	kinds func() (map[string]*abischema.Schema, error)
}

// newBounds returns the bounds, which are compiled when the first object needs them.
func newBounds() bounds { return bounds{sync.OnceValues(readBounds)} }

func readBounds() (map[string]*abischema.Schema, error) {
	out := make(map[string]*abischema.Schema)
	return out, fs.WalkDir(crds.Files(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(crds.Files(), path)
		if err != nil {
			return err
		}
		kind, s, err := specSchema(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out[kind] = s
		return nil
	})
}

// specSchema returns the kind of a CustomResourceDefinition and the schema of its objects' specs.
func specSchema(text []byte) (kind string, s *abischema.Schema, err error) {
	var crd struct {
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema struct{ Properties map[string]any }
				}
			}
		}
	}
	if err := sigsyaml.Unmarshal(text, &crd); err != nil {
		return "", nil, err
	}
	for _, version := range crd.Spec.Versions {
		if version.Name != v1alpha1.GroupVersion().Version {
			continue
		}
		spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
		inJSONSchema(spec)
		raw, err := stdjson.Marshal(map[string]any{"type": "object", "properties": map[string]any{"spec": spec}, "required": []string{"spec"}})
		if err == nil {
			s, _, err = abischema.New(raw)
		}
		return crd.Spec.Names.Kind, s, err
	}
	return "", nil, errors.New("it has no version " + v1alpha1.GroupVersion().Version)
}

// inJSONSchema writes what Kubernetes has keywords of its own for with those of JSON Schema.
func inJSONSchema(s any) {
	switch s := s.(type) {
	case map[string]any:
		if s["x-kubernetes-list-type"] == "set" {
			s["uniqueItems"] = true
		}
		for _, below := range s {
			inJSONSchema(below)
		}
	case []any:
		for _, below := range s {
			inJSONSchema(below)
		}
	}
}

// check returns what is out of bounds in an object, which is valid JSON.
func (b bounds) check(at place, n *yaml.Node, gvk schema.GroupVersionKind, text []byte) (out []*Error) {
	if gvk.Group != v1alpha1.GroupVersion().Group {
		return nil
	}
	fail := func(path, detail, fix string) { out = append(out, at.at(n, path, detail, fix)) }
	kinds, err := b.kinds()
	if err != nil {
		fail("", err.Error(), "report this")
		return out
	}
	var object map[string]any
	d := stdjson.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		fail("", err.Error(), "fix the object")
		return out
	}
	if spec, ok := object["spec"].(map[string]any); ok {
		if _, ok := spec["config"].(map[string]any); ok {
			spec["config"] = struct{}{} // it may be as large as a plugin's schema allows
		}
	}
	withoutNull(object)
	if text, err = stdjson.Marshal(object); err == nil {
		_, err = kinds[gvk.Kind].Check(text)
	}
	if err == nil {
		return nil
	}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		var p *abischema.Problem
		if errors.As(err, &p) {
			fail(p.Path, p.Detail, p.Fix)
		} else {
			fail("", err.Error(), "fix the object")
		}
	}
	return out
}

// withoutNull removes fields that are null, as an API server does.
func withoutNull(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if below == nil {
				delete(v, name)
			}
			withoutNull(below)
		}
	case []any:
		for _, below := range v {
			withoutNull(below)
		}
	}
}
