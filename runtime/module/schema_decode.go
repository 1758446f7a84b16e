package module

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// decodes finds the innermost schema that the library cannot read, which it does
// not name itself.
func (g *guard) decodes() error {
	pointers := keys(g.nodes)
	slices.SortStableFunc(pointers, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, pointer := range pointers {
		text, err := json.Marshal(g.nodes[pointer])
		if err != nil {
			return err
		}
		err = json.Unmarshal(text, new(jsonschema.Schema))
		if err == nil {
			continue
		}
		p := &problem{path: strings.TrimSuffix(fieldPath(pointer), "."), detail: err.Error(), fix: "see https://json-schema.org/draft/2020-12 (ABI-9.8)"}
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
			if _, has := g.nodes[pointer][field]; has {
				p.path = join(p.path, field)
			}
			p.detail = "a JSON " + wrong.Value + " cannot be here"
		}
		return p
	}
	return nil
}
