package input

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestBounds: at every bound in the schemas of the kinds of berth.dev, the reader takes a value that keeps it and refuses one that
// does not, by its path.
func TestBounds(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/crds/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	reader, err := newDecoder(ofClusters(), &gatherer{})
	if err != nil {
		t.Fatal(err)
	}
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
						OpenAPIV3Schema limited `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		h := holding{t: t, reader: reader, kind: crd.Spec.Names.Kind, spec: spec}
		h.hold(spec, nil)
		if h.kept < 10 || h.broken < 30 {
			t.Errorf("%s: %d values keep a bound and %d do not; the test does not read the schema", h.kind, h.kept, h.broken)
		}
	}
}

// limited is a schema.
type limited struct {
	Type, Format, Pattern string
	Enum                  []string
	Minimum, Maximum      *int64
	MinLength, MaxLength  *int
	MinItems, MaxItems    *int
	Required              []string
	Properties            map[string]*limited
	Items                 *limited
	ListType              string `json:"x-kubernetes-list-type"`
	IntOrString           bool   `json:"x-kubernetes-int-or-string"`
}

// least returns a small value that keeps the bounds.
func (b *limited) least(name string) any {
	examples := map[string]any{
		"digest": "sha256:" + strings.Repeat("a", 64), "digests": "sha256:" + strings.Repeat("a", 64), "image": "r.example.com/x:1",
		"url": "https://example.com/x", "repositories": "r.example.com/x", "notAfter": "2030-01-01T00:00:00Z", "pause": "1s", "keepOld": "1s",
		"p99": "1s", "deadline": "1s", "faults": "1%", "pending": "1%", "changed": "1%", "publicKey": "-----BEGIN PUBLIC KEY-----",
	}
	example, special := examples[name]
	switch {
	case special && b.Type == "string":
		return example
	case b.IntOrString:
		return "64Mi"
	case len(b.Enum) > 0:
		return b.Enum[0]
	case b.Type == "integer" && b.Minimum != nil:
		return *b.Minimum
	case b.Type == "integer":
		return 1
	case b.Type == "boolean":
		return true
	case b.Type == "string":
		return "x"
	case b.Type == "array":
		return []any{b.Items.least(name)}
	}
	out := make(map[string]any)
	for _, field := range b.Required {
		out[field] = b.Properties[field].least(field)
	}
	return out
}

// holding holds the reader against the schema of a kind's specs.
type holding struct {
	t            *testing.T
	kind         string
	spec         *limited
	reader       *decoder
	kept, broken int
}

// step is a field, or the first item of its list.
type step struct {
	field string
	item  bool
}

// hold tries what keeps and what breaks the bounds of a value, and of what is in it.
func (h *holding) hold(b *limited, path []step) {
	name := ""
	if len(path) > 0 {
		name = path[len(path)-1].field
	}
	h.try(path, b.least(name), true)
	many := func(n int) []any { return slices.Repeat([]any{b.Items.least(name)}, n) }
	for _, bound := range []*int64{b.Minimum, b.Maximum} {
		if bound != nil {
			h.try(path, *bound, true)
		}
	}
	if b.Minimum != nil {
		h.try(path, *b.Minimum-1, false)
	}
	if b.Maximum != nil {
		h.try(path, *b.Maximum+1, false)
	}
	if b.MinLength != nil && *b.MinLength > 0 {
		h.try(path, "", false)
	}
	if b.MaxLength != nil {
		h.try(path, strings.Repeat("x", *b.MaxLength+1), false)
	}
	if b.Pattern != "" || len(b.Enum) > 0 {
		h.try(path, "No such value!", false)
	}
	if b.MinItems != nil && *b.MinItems > 0 {
		h.try(path, many(*b.MinItems-1), false)
	}
	if b.MaxItems != nil {
		h.try(path, many(*b.MaxItems+1), false)
	}
	if b.ListType == "set" {
		h.try(path, many(2), false)
	}
	if len(b.Required) > 0 {
		h.try(path, map[string]any{}, false)
	}
	for _, field := range slices.Sorted(maps.Keys(b.Properties)) {
		h.hold(b.Properties[field], append(slices.Clone(path), step{field: field}))
	}
	if b.Items != nil {
		h.hold(b.Items, append(slices.Clone(path[:len(path)-1]), step{name, true}))
	}
}

// try has an object read that has a value at a path, and otherwise only what is required.
func (h *holding) try(path []step, value any, keeps bool) {
	h.t.Helper()
	spec, at := h.with(h.spec, "", path, value), "spec"
	for _, s := range path {
		at += "." + s.field
		if s.item {
			at += "[0]"
		}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "berth.dev/v1alpha1", "kind": h.kind, "metadata": map[string]any{"name": "a"}, "spec": spec,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	errs := h.reader.chunk(h.t.Context(), &chunk{file: "a.json", line: 1, text: text, json: true}).errs
	if keeps {
		h.kept++
	} else {
		h.broken++
	}
	said := fmt.Sprint(errs)
	if keeps != (len(errs) == 0) || !keeps && !strings.Contains(said, at) {
		h.t.Errorf("%s: %s: %.100s: %s", h.kind, at, fmt.Sprint(value), said)
	}
}

// with returns a value that keeps the bounds, but for the value at a path.
func (h *holding) with(b *limited, name string, path []step, value any) any {
	if len(path) == 0 {
		return value
	}
	out := b.least(name).(map[string]any)
	field := b.Properties[path[0].field]
	if path[0].item {
		out[path[0].field] = []any{h.with(field.Items, path[0].field, path[1:], value)}
	} else {
		out[path[0].field] = h.with(field, path[0].field, path[1:], value)
	}
	return out
}
