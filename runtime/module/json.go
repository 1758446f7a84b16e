package module

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// maxDepth is how deep a configuration may nest.
const maxDepth = 100

// toJSON turns one YAML document, which JSON is too, into JSON. Nothing is {}.
func toJSON(data []byte) ([]byte, error) {
	docs := yaml.NewDecoder(bytes.NewReader(data))
	for n := 0; ; n++ {
		var doc yaml.Node
		err := docs.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &problem{detail: "no YAML or JSON: " + strings.TrimPrefix(err.Error(), "yaml: ")}
		}
		if n > 0 {
			return nil, &problem{detail: fmt.Sprintf("a second document begins on line %d", doc.Line), fix: "keep one"}
		}
		if word := ambiguous(&doc); word != nil {
			return nil, &problem{detail: fmt.Sprintf("line %d: %s is a text to some readers of YAML and true or false to others", word.Line, word.Value),
				fix: "write it in quotes, or write true or false"}
		}
	}
	out, err := sigsyaml.YAMLToJSONStrict(data)
	if err != nil {
		text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
		return nil, &problem{detail: "no YAML or JSON: " + strings.TrimPrefix(text, "unmarshal errors: ")}
	}
	if string(out) == "null" {
		return []byte("{}"), nil
	}
	return out, nil
}

// ambiguous returns a word such as y or no without quotes, which YAML 1.1 takes
// for a truth value, and 1.2 for a text; nil if there is none.
func ambiguous(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		switch strings.ToLower(n.Value) {
		case "y", "n", "yes", "no", "on", "off":
			return n
		}
	}
	for _, part := range n.Content {
		if word := ambiguous(part); word != nil {
			return word
		}
	}
	return nil
}

// parseJSON reads one JSON value: map[string]any, []any, string, bool,
// json.Number or nil. It refuses fields that are there twice.
func parseJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := parseValue(d, "", 0)
	if err != nil {
		return nil, syntax(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &problem{detail: "text after the end of the JSON value"}
	}
	return v, nil
}

func syntax(err error) error {
	var known *problem
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &problem{detail: "no JSON: the text ends too early"}
	}
	return &problem{detail: "no JSON: " + err.Error()}
}

func parseValue(d *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &problem{path: path, detail: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string) // the decoder saw to it
			at := join(path, name)
			if _, twice := m[name]; twice {
				return nil, &problem{path: at, detail: "the field is there twice", fix: "keep one"}
			}
			if m[name], err = parseValue(d, at, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parseValue(d, index(path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// canonical writes a value compactly, with fields sorted and numbers as they were.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// join and index build field paths: pools.team-a[1].
func join(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\" \n\r\t") || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// show writes a value for a message, cut if it is long.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case nil:
		return "null"
	case string:
		if r := []rune(v); len(r) > 40 {
			return strconv.Quote(string(r[:40])) + "…"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}
