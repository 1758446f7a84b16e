package module

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxProblems is how many mistakes of one configuration are told.
const maxProblems = 20

// finder looks for the places where a value does not fit. The library tells the
// path in the schema only, so the finder goes down value and schema side by side
// and asks the library of each part.
type finder struct {
	schema   *schema
	compiled map[string]*jsonschema.Resolved
	found    []problem
}

// fits asks the library.
func (f *finder) fits(pointer string, value any) error {
	r, ok := f.compiled[pointer]
	if !ok {
		var err error
		if r, err = f.schema.compile(pointer); err != nil {
			return nil // what cannot be asked is told by the part around it
		}
		f.compiled[pointer] = r
	}
	return check(r, value)
}

func (f *finder) add(p problem) {
	if len(f.found) < maxProblems && !slices.Contains(f.found, p) {
		f.found = append(f.found, p)
	}
}

// find records why value, at path, does not fit the schema at pointer.
func (f *finder) find(pointer string, at any, value any, path string) {
	before := len(f.found)
	s, ok := at.(map[string]any)
	if !ok {
		f.add(problem{path: path, detail: "nothing may be here", fix: "remove it"})
		return
	}
	for _, p := range explain(s, value) {
		if p.path = path + p.path; path == "" {
			p.path = strings.TrimPrefix(p.path, ".")
		}
		f.add(p)
	}
	if len(f.found) > before && !isContainer(value) {
		return
	}
	f.inside(pointer, s, value, path)
	f.beside(pointer, s, value, path)
	if len(f.found) > before {
		return
	}
	if err := f.fits(pointer, value); err != nil {
		f.add(problem{path: path, detail: libraryText(err)})
	}
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// part finds what is wrong with a part, if the library says that something is.
func (f *finder) part(pointer string, s any, value any, path string) {
	if f.fits(pointer, value) != nil {
		f.find(pointer, s, value, path)
	}
}

// inside goes to the fields of an object or the elements of a list.
func (f *finder) inside(pointer string, s map[string]any, value any, path string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range keys(v) {
			at := join(path, name)
			properties, _ := s["properties"].(map[string]any)
			known, ok := properties[name]
			if ok {
				f.part(pointerTo(pointerTo(pointer, "properties"), name), known, v[name], at)
			}
			patterns, _ := s["patternProperties"].(map[string]any)
			for _, pattern := range keys(patterns) {
				if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
					ok = true
					f.part(pointerTo(pointerTo(pointer, "patternProperties"), pattern), patterns[pattern], v[name], at)
				}
			}
			if rest, has := s["additionalProperties"].(map[string]any); has && !ok {
				f.part(pointerTo(pointer, "additionalProperties"), rest, v[name], at)
			}
		}
	case []any:
		prefix, _ := s["prefixItems"].([]any)
		for i, item := range v {
			at := index(path, i)
			if i < len(prefix) {
				f.part(pointerTo(pointerTo(pointer, "prefixItems"), strconv.Itoa(i)), prefix[i], item, at)
			} else if rest, has := s["items"]; has {
				f.part(pointerTo(pointer, "items"), rest, item, at)
			}
		}
	}
}

// beside goes to schemas that apply to the same value.
func (f *finder) beside(pointer string, s map[string]any, value any, path string) {
	if ref, has := s["$ref"]; has {
		if to, err := localPointer(ref); err == nil {
			f.part(to, at(f.schema.root, to), value, path)
		}
	}
	all, _ := s["allOf"].([]any)
	for i, part := range all {
		f.part(pointerTo(pointerTo(pointer, "allOf"), strconv.Itoa(i)), part, value, path)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		alternatives, has := s[key].([]any)
		if !has {
			continue
		}
		f.alternatives(pointerTo(pointer, key), alternatives, value, path)
	}
	if condition, has := s["if"]; has && condition != nil {
		branch := "else"
		if f.fits(pointerTo(pointer, "if"), value) == nil {
			branch = "then"
		}
		if part, has := s[branch]; has {
			f.part(pointerTo(pointer, branch), part, value, path)
		}
	}
}

// alternatives tells, where none fits, why each does not.
func (f *finder) alternatives(pointer string, list []any, value any, path string) {
	text := ""
	for i, part := range list {
		at := pointerTo(pointer, strconv.Itoa(i))
		if f.fits(at, value) == nil {
			return // what is wrong with oneOf then is the library's to say
		}
		inner := finder{schema: f.schema, compiled: f.compiled}
		inner.find(at, part, value, path)
		if len(inner.found) == 0 {
			continue
		}
		first := inner.found[0]
		if len(list) == 1 {
			f.add(first)
			return
		}
		if text != "" {
			text += ", or "
		}
		if first.path != path {
			text += first.path + ": "
		}
		text += first.detail
	}
	f.add(problem{path: path, detail: "none of " + strconv.Itoa(len(list)) + " alternatives fits: " + text})
}
