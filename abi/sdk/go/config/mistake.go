package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// syntax says on which line a text stops being JSON.
func syntax(data []byte, err error) error {
	var at *json.SyntaxError
	if !errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("line %d: this is not JSON", 1+bytes.Count(data[:min(at.Offset, int64(len(data)))], []byte("\n")))
}

// mistake returns the first place in which a value does not fit a type; nil if it finds none,
// or if the type decodes itself. encoding/json does not report the path of an unknown field,
// nor keys and indices.
func mistake(path string, value json.RawMessage, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	found := kindOf(value)
	if found == "null" || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	want := ""
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		want = "an object"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64, reflect.Float64:
		want = "a number"
	default:
		return nil
	}
	switch {
	case want != found:
		return wrong(path, "expected %s, found %s", want, found)
	case want == "an object":
		return inObject(path, value, t)
	case want == "a list":
		return inList(path, value, t.Elem())
	case want == "a number" && json.Unmarshal(value, reflect.New(t).Interface()) != nil:
		if t.Kind() == reflect.Float64 {
			return wrong(path, "%s is beyond the numbers of 64 bits", value)
		}
		return wrong(path, "%s is not a whole number of 64 bits", value)
	}
	return nil
}

func wrong(path, format string, args ...any) error {
	if path == "" {
		path = "the configuration"
	}
	return fmt.Errorf(path+": "+format, args...)
}

// kindOf returns the kind of a value by its first character.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

func inObject(path string, value json.RawMessage, t reflect.Type) error {
	if path != "" {
		path += "."
	}
	return each(value, func(key string, value json.RawMessage) error {
		path := path + key
		if t.Kind() == reflect.Map {
			return mistake(path, value, t.Elem())
		}
		var known []string
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" || !field.IsExported() || field.Anonymous && name == "" {
				continue
			}
			if name == "" {
				name = field.Name
			}
			if strings.EqualFold(name, key) {
				return mistake(path, value, field.Type)
			}
			known = append(known, name)
		}
		return wrong(path, "there is no such field; there are %s", strings.Join(known, ", "))
	})
}

func inList(path string, value json.RawMessage, t reflect.Type) error {
	i := -1
	return each(value, func(_ string, value json.RawMessage) error {
		i++
		return mistake(fmt.Sprintf("%s[%d]", path, i), value, t)
	})
}

// each calls f with the keys and values of an object, or the elements of a list, until it
// fails. The value must be JSON.
func each(value json.RawMessage, f func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key := ""
		if value[0] == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return err
		}
		if err := f(key, element); err != nil {
			return err
		}
	}
	return nil
}
