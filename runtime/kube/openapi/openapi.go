// Package openapi holds paths of fields against the schemas that an API server publishes (OpenAPI v3), of custom resources and of the
// built-in ones alike.
package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/internal/nearest"
)

// Object returns the schema of the objects of a resource in the document of its group and version; nil if the document does not have it.
func Object(doc *spec3.OpenAPI, r fieldpath.Resource) *spec.Schema {
	if doc == nil || doc.Paths == nil || doc.Components == nil {
		return nil
	}
	prefix := "/apis/" + r.Group + "/" + r.Version + "/"
	if r.Group == "" {
		prefix = "/api/" + r.Version + "/"
	}
	for _, path := range []string{prefix + "namespaces/{namespace}/" + r.Plural + "/{name}", prefix + r.Plural + "/{name}"} {
		at := doc.Paths.Paths[path]
		if at == nil || at.Get == nil || at.Get.Responses == nil {
			continue
		}
		ok := at.Get.Responses.StatusCodeResponses[200]
		if ok == nil {
			continue
		}
		if media := ok.Content["application/json"]; media != nil && media.Schema != nil {
			return media.Schema
		}
	}
	return nil
}

// Check follows a path through a schema, and returns that of what it leads to; nil if the schema does not say, as where it keeps unknown
// fields.
//
// # Errors
//
// No object can have something there: the error names the step, and the nearest field that there is.
func Check(doc *spec3.OpenAPI, object *spec.Schema, path fieldpath.Path) (*spec.Schema, error) {
	at, done := resolve(doc, object), ""
	for _, step := range path.Steps() {
		if at == nil {
			return nil, nil
		}
		var err error
		switch step.Kind {
		case fieldpath.Field:
			at, err = field(doc, at, step.Name)
			done += "." + step.Name
		case fieldpath.Find:
			if at, err = element(doc, at); err == nil && at != nil {
				_, err = field(doc, at, step.Name)
			}
			done += "[" + step.Name + "=…]"
		case fieldpath.All:
			at, err = element(doc, at)
			if err != nil { // values of an object have any keys
				at, err = value(doc, at, err)
			}
			done += "[*]"
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, done, err)
		}
	}
	return at, nil
}

// Scalar returns an error if a schema is that of an object or a list, which no number or text is.
func Scalar(s *spec.Schema) error {
	if s != nil && (s.Type.Contains("object") || s.Type.Contains("array")) {
		return fmt.Errorf("it is of the type %s, and a number or a text is needed: go on to one of its fields%s", s.Type[0], fieldsOf(s))
	}
	return nil
}

// resolve follows references; kube-apiserver wraps those that have a default into allOf.
func resolve(doc *spec3.OpenAPI, s *spec.Schema) *spec.Schema {
	for range 8 {
		switch {
		case s == nil:
			return nil
		case s.Ref.String() != "":
			s = doc.Components.Schemas[strings.TrimPrefix(s.Ref.String(), "#/components/schemas/")]
		case len(s.AllOf) == 1 && len(s.Properties) == 0 && len(s.Type) == 0:
			s = &s.AllOf[0]
		default:
			return s
		}
	}
	return nil
}

// open reports whether objects of a schema may have fields that it does not name.
func open(s *spec.Schema) bool {
	keeps, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	return keeps || len(s.Properties) == 0 && (len(s.Type) == 0 || s.Type.Contains("object"))
}

func field(doc *spec3.OpenAPI, s *spec.Schema, name string) (*spec.Schema, error) {
	if next, ok := s.Properties[name]; ok {
		return resolve(doc, &next), nil
	}
	switch {
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return resolve(doc, s.AdditionalProperties.Schema), nil
	case open(s):
		return nil, nil
	case s.Type.Contains("array"):
		return nil, fmt.Errorf("it is a list: write [*] or [field=value] before .%s", name)
	case !s.Type.Contains("object"):
		return nil, fmt.Errorf("it is in a %s, which has no fields", strings.Join(s.Type, " or "))
	}
	return nil, fmt.Errorf("there is no such field: %s", cmp.Or(nearest.DidYouMean(name, slices.Sorted(maps.Keys(s.Properties))),
		"it has many, and none is like this"))
}

// element returns the schema of a list's elements.
func element(doc *spec3.OpenAPI, s *spec.Schema) (*spec.Schema, error) {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return resolve(doc, s.Items.Schema), nil
	case s.Type.Contains("array") || open(s) && s.AdditionalProperties == nil:
		return nil, nil
	}
	return s, fmt.Errorf("it is no list%s", fieldsOf(s))
}

// value returns the schema of an object's values, if all have the same; otherwise nothing and err.
func value(doc *spec3.OpenAPI, s *spec.Schema, err error) (*spec.Schema, error) {
	if s.AdditionalProperties == nil {
		return nil, err
	}
	return resolve(doc, s.AdditionalProperties.Schema), nil
}

// fieldsOf names the fields of an object, unless they are many.
func fieldsOf(s *spec.Schema) string {
	if len(s.Properties) == 0 || len(s.Properties) > 12 {
		return ""
	}
	return " (it has " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ") + ")"
}
