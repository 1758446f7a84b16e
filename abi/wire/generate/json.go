package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // an object, a list, or what package json writes in one line
}

// list is a JSON array.
type list []any

// of returns a list of strings.
func of(names []string) list {
	out := list{}
	for _, name := range names {
		out = append(out, name)
	}
	return out
}

// width is how long a line may be for a value in one line.
const width = 140

// text returns a value as JSON: in one line if that is short enough, else with a line for each element.
func text(value any, indent string) string {
	var open, end string
	var parts []string
	inner := indent + "  "
	switch v := value.(type) {
	case object:
		open, end = "{", "}"
		for _, m := range v {
			name := scalar(m.name) + ": "
			parts = append(parts, name+text(m.value, inner))
		}
	case list:
		open, end = "[", "]"
		for _, e := range v {
			parts = append(parts, text(e, inner))
		}
	default:
		return scalar(v)
	}
	line := open + strings.Join(parts, ", ") + end
	if len(indent)+len(line) <= width && !strings.Contains(line, "\n") {
		return line
	}
	return open + "\n" + inner + strings.Join(parts, ",\n"+inner) + "\n" + indent + end
}

func scalar(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings, numbers and booleans always can
	}
	return strings.TrimSpace(b.String())
}
