package module

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	draft202012 = "https://json-schema.org/draft/2020-12/schema"
	// schemaID is the base of the schema's references while it is compiled.
	schemaID = "https://berth.invalid/config"
)

// schema is a manifest's config schema (ABI-9.8). nil accepts {} only. It is safe
// for concurrent use.
type schema struct {
	root  map[string]any // without $schema and $id
	whole *jsonschema.Resolved
}

// newSchema compiles a schema and returns remarks on it. It comes from a
// stranger, so what could make validating run for ever is refused first.
func newSchema(raw []byte) (s *schema, remarks []string, err error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	value, err := parseJSON(raw)
	if err != nil {
		return nil, nil, err
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, nil, &problem{detail: "the schema is no object"}
	}
	if version, has := root["$schema"]; has && version != draft202012 {
		return nil, nil, &problem{path: "$schema", detail: show(version) + " is not understood", fix: "leave it out, or write " + strconv.Quote(draft202012) + " (ABI-9.8)"}
	}
	delete(root, "$schema")
	delete(root, "$id")
	g, err := guardSchema(root)
	if err != nil {
		return nil, nil, err
	}
	if err := g.decodes(); err != nil {
		return nil, nil, err
	}
	s = &schema{root: root}
	if s.whole, err = s.compile(""); err != nil {
		return nil, nil, err
	}
	return s, g.remarks, nil
}

// compile makes a validator of the part of the schema at a JSON pointer. The
// schema is wrapped, so that its references keep their meaning.
func (s *schema) compile(pointer string) (resolved *jsonschema.Resolved, err error) {
	defer func() { // the library has assertions, and the schema is a stranger's
		if r := recover(); r != nil {
			err = &problem{detail: fmt.Sprint("the schema cannot be compiled: ", r)}
		}
	}()
	inner := make(map[string]any, len(s.root)+1)
	for key, value := range s.root {
		inner[key] = value
	}
	inner["$id"] = schemaID
	text, err := json.Marshal(map[string]any{"$ref": schemaID + "#" + escapeFragment(pointer), "$defs": map[string]any{"config": inner}})
	if err != nil {
		return nil, err
	}
	var wrapped jsonschema.Schema
	if err := json.Unmarshal(text, &wrapped); err != nil {
		return nil, &problem{detail: "it is no JSON Schema: " + strings.TrimPrefix(err.Error(), "json: "), fix: "see https://json-schema.org/draft/2020-12 (ABI-9.8)"}
	}
	resolved, err = wrapped.Resolve(nil)
	if err != nil {
		return nil, &problem{detail: "it is no JSON Schema: " + err.Error(), fix: "see https://json-schema.org/draft/2020-12 (ABI-9.8)"}
	}
	return resolved, nil
}

// escapeFragment writes a JSON pointer as the fragment of a URL.
func escapeFragment(pointer string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/$"
	var b strings.Builder
	for i := range len(pointer) {
		if strings.IndexByte(plain, pointer[i]) >= 0 {
			b.WriteByte(pointer[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", pointer[i])
		}
	}
	return b.String()
}

// pointerTo appends a step to a JSON pointer.
func pointerTo(pointer, step string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
}

// validate holds a value of parseJSON against the schema and returns what does
// not fit, in the order of the paths.
func (s *schema) validate(value any) []problem {
	if s == nil {
		m, ok := value.(map[string]any)
		switch {
		case !ok:
			return []problem{{detail: "expected an object, found " + show(value), fix: "write {}"}}
		case len(m) > 0:
			return []problem{{path: join("", keys(m)[0]), detail: "the plugin takes no configuration: its manifest has no schema", fix: "remove it (ABI-9.8)"}}
		}
		return nil
	}
	plain, bad := numbers(value, "")
	if bad != nil {
		return []problem{*bad}
	}
	if check(s.whole, plain) == nil {
		return nil
	}
	f := finder{schema: s, compiled: map[string]*jsonschema.Resolved{}}
	f.find("", s.root, plain, "")
	if len(f.found) == 0 { // an error that no part has alone
		f.found = []problem{{detail: libraryText(check(s.whole, plain))}}
	}
	return f.found
}

func check(r *jsonschema.Resolved, value any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be applied: %v", p)
		}
	}()
	return r.Validate(value)
}

// libraryText is an error of the library without the schemas on the way.
func libraryText(err error) string {
	text := err.Error()
	for strings.HasPrefix(text, "validating ") {
		_, rest, ok := strings.Cut(text, ": ")
		if !ok {
			break
		}
		text = rest
	}
	return text
}

// numbers replaces json.Number by int64, uint64 or float64, which is what the
// library takes for numbers.
func numbers(value any, path string) (any, *problem) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		n, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return nil, &problem{path: path, detail: v.String() + " is out of range"}
		}
		return n, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var bad *problem
			if out[i], bad = numbers(item, index(path, i)); bad != nil {
				return nil, bad
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range keys(v) {
			var bad *problem
			if out[key], bad = numbers(v[key], join(path, key)); bad != nil {
				return nil, bad
			}
		}
		return out, nil
	}
	return value, nil
}
