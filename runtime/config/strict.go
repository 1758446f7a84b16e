package config

import (
	"encoding/json"
	"reflect"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// decodeTree stores a JSON tree in into, a pointer to a struct. node is what the tree was read from. It reports all
// unknown fields and values of the wrong type, under base, and removes them from the tree. It returns false if into is
// not usable even so.
func decodeTree(r *report, base *field.Path, node *yaml.Node, tree map[string]any, into any) bool {
	found := strictyaml.Mismatches(node, reflect.TypeOf(into).Elem(), nil)
	for _, m := range found {
		if path := pathOf(base, m.Path); m.Unknown {
			r.add(path, m.Detail, m.Fix)
		} else {
			r.breaks(path, m.Detail, m.Fix)
		}
	}
	if len(found) == strictyaml.MaxMismatches {
		return false
	}
	strictyaml.Remove(tree, found)
	raw, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		r.add(base, err.Error(), "")
	}
	return err == nil
}

// decodeArgs is decodeTree for a part of a file, as JSON. It returns the tree as well, nil if there is none.
func decodeArgs(r *report, base *field.Path, raw []byte, into any) (tree map[string]any, ok bool) {
	var value any
	if err := unmarshalNumbers(raw, &value); err != nil {
		r.add(base, "not valid JSON: "+err.Error(), "")
		return nil, false
	}
	node := r.lines.node(text(base)) // as it is written
	if node == nil {
		var err error
		if node, err = strictyaml.Parse(raw); err != nil { // JSON is YAML
			r.add(base, err.Error(), "")
			return nil, false
		}
	}
	tree, ok = value.(map[string]any)
	if !ok {
		r.breaks(base, "expected a mapping, found "+strictyaml.Describe(value), "")
		return nil, false
	}
	return tree, decodeTree(r, base, node, tree, into)
}
