package schema

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

	"github.com/berth-scheduler/berth/internal/plain"
)

// A configuration nests at most maxDepth levels and has at most MaxValues values: a value of
// two bytes of text may take a hundred in memory.
const (
	maxDepth  = 100
	MaxValues = 100_000
)

// Parse reads one JSON value: map[string]any, []any, string, bool, json.Number or nil. It
// refuses duplicate fields.
func Parse(raw []byte) (any, error) {
	r := jsonReader{tokens: json.NewDecoder(bytes.NewReader(raw))}
	r.tokens.UseNumber()
	v, err := r.value()
	if err != nil {
		return nil, notJSON(err)
	}
	if _, err := r.tokens.Token(); !errors.Is(err, io.EOF) {
		return nil, &Problem{Detail: "text after the end of the JSON value"}
	}
	return v, nil
}

func notJSON(err error) error {
	var known *Problem
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Problem{Detail: "invalid JSON: the text ends too early"}
	}
	return &Problem{Detail: "invalid JSON: " + err.Error()}
}

// jsonReader builds values from tokens.
type jsonReader struct {
	tokens *json.Decoder
	at     path
	values int
}

func (r *jsonReader) fail(detail, fix string) error {
	return &Problem{Path: r.at.String(), Detail: detail, Fix: fix}
}

func (r *jsonReader) value() (any, error) {
	if len(r.at) > maxDepth {
		return nil, r.fail(fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
	}
	if r.values++; r.values > MaxValues {
		return nil, r.fail(fmt.Sprintf("more than %d values", MaxValues), "make it smaller")
	}
	t, err := r.tokens.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		for r.tokens.More() {
			key, err := r.tokens.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string) // the decoder guarantees it
			r.at.push(step{name: name, field: true})
			if _, twice := m[name]; twice {
				return nil, r.fail("the field appears twice", "keep one")
			}
			if m[name], err = r.value(); err != nil {
				return nil, err
			}
			r.at.pop()
		}
		_, err = r.tokens.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for r.tokens.More() {
			r.at.push(step{index: len(list)})
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			r.at.pop()
			list = append(list, v)
		}
		_, err = r.tokens.Token()
		return list, err
	}
	return t, nil
}

// Canonical writes a value compactly, with sorted fields and unchanged numbers.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Join returns the path of a field, such as pools.team-a.
func Join(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\" \n\r\t") || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of an element of a list.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Show formats a value for a message and cuts it if it is long.
func Show(v any) string {
	switch v := v.(type) {
	case map[string]any, *object:
		return "an object"
	case []any:
		return "a list"
	case nil:
		return "null"
	case string:
		runes := 0
		for i := range v {
			if runes++; runes > 40 {
				return strconv.Quote(v[:i]) + "…"
			}
		}
		return strconv.Quote(v)
	}
	return plain.Cut(fmt.Sprint(v), 40)
}
