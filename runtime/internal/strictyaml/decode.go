package strictyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMistakes is how many mistakes are reported, and maxKey how much of a key, in bytes.
const maxMistakes, maxKey = 20, 64

// Decode stores a small document in into, a pointer to a struct.
//
// # Errors
//
// The text is not one YAML document of at most most bytes without its aliases; or all unknown
// fields, keys that occur twice, and mappings and lists where others are expected, joined, each
// with its line and path.
func Decode(text []byte, most int, into any) error {
	root, err := Parse(text)
	if err != nil {
		m := Explain(text, err)[0]
		return at(m.Line, "", m.Detail)
	}
	if root == nil {
		return errors.New("the file is empty")
	}
	if !Fits(root, most) {
		return fmt.Errorf("its aliases stand for more than %d bytes, or for themselves: write them out", most)
	}
	f := fitter{}
	twice, _ := Duplicates(root) // as many as an error has
	for _, d := range twice {
		f.add(d.Key.Line, pathOf(d.Path), fmt.Sprintf("the field is given twice, first in line %d", d.First.Line))
	}
	f.node(root, reflect.TypeOf(into).Elem(), "")
	if len(f.mistakes) > 0 {
		return errors.Join(f.mistakes...)
	}
	values, err := Values(text, false)
	if err != nil {
		m := Explain(text, err)[0]
		return at(m.Line, "", m.Detail)
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(values, into); errors.As(err, &wrong) {
		return at(0, wrong.Field, fmt.Sprintf("expected %s, found %s", wrong.Type, wrong.Value))
	} else if err != nil {
		return err
	}
	return nil
}

// at describes a mistake. A line of 0 and an empty path are not known.
func at(line int, path, detail string) error {
	if path != "" {
		detail = path + ": " + detail
	}
	if line > 0 {
		detail = fmt.Sprintf("line %d: %s", line, detail)
	}
	return errors.New(detail)
}

// fitter holds a document against Go types.
type fitter struct{ mistakes []error }

func (f *fitter) add(line int, path, detail string) {
	if len(f.mistakes) < maxMistakes {
		f.mistakes = append(f.mistakes, at(line, path, detail))
	}
}

func (f *fitter) node(n *yaml.Node, t reflect.Type, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.ShortTag() == "!!null", reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		f.mapping(n, t, path)
	case t.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			f.add(n.Line, path, "expected a list")
			return
		}
		for i, item := range n.Content {
			f.node(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case n.Kind != yaml.ScalarNode:
		f.add(n.Line, path, "expected a single value")
	}
}

func (f *fitter) mapping(n *yaml.Node, t reflect.Type, path string) {
	if n.Kind != yaml.MappingNode {
		f.add(n.Line, path, "expected a mapping")
		return
	}
	known := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		fields(t, known)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			for _, from := range sequence(value) {
				f.node(from, t, path)
			}
			continue
		}
		below := child(path, key.Value)
		if t.Kind() == reflect.Map {
			f.node(value, t.Elem(), below)
		} else if field, ok := known[key.Value]; ok {
			f.node(value, field, below)
		} else {
			f.add(key.Line, below, "unknown field; the fields here are "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
}

// fields adds the fields of a struct by their names in JSON, with those of embedded structs.
func fields(t reflect.Type, known map[string]reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		switch name, _, _ := strings.Cut(field.Tag.Get("json"), ","); {
		case name == "" && field.Anonymous:
			fields(field.Type, known)
		case name != "-":
			known[name] = field.Type
		}
	}
}

func pathOf(steps []any) (path string) {
	for _, step := range steps {
		if i, ok := step.(int); ok {
			path += fmt.Sprintf("[%d]", i)
		} else {
			path = child(path, step.(string))
		}
	}
	return path
}

// child returns the path of a key. One that is no plain word is quoted.
func child(path, key string) string {
	if key = strings.ToValidUTF8(key[:min(len(key), maxKey)], ""); strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || key == "" {
		return path + "[" + strconv.Quote(key) + "]"
	}
	return strings.TrimPrefix(path+"."+key, ".")
}
