// Package config reads a plugin's configuration, without reflection, which would make a module 1.2 MB
// larger:
//
//	c := config.Parse(data)
//	c.Only("limit", "exempt")
//	p.limit = c.Get("limit").Int64(10)
//	for _, namespace := range c.Get("exempt").Elements() {
//		p.exempt = append(p.exempt, p.Const(namespace.Text("")))
//	}
//	return c.Err()
//
// The first mistake is kept with its path, and from then on every method returns what it returns
// for an absent value. So a plugin reads everything and looks for a mistake once, in the end. The
// errors have the words of the SDKs in other languages: tenants.a.pools[1]: expected a string, found
// a number.
package config

import (
	"errors"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/sdk/go/internal/json"
)

// Value is a place in a configuration.
type Value struct {
	*document
	value *json.Value // nil if it is absent, or null
	path  string
	key   string
}

// document has the first mistake in a configuration.
type document struct{ err error }

// Parse returns the value of a text. One that is not JSON is a mistake, and its value is absent.
func Parse(data []byte) Value {
	whole, err := json.Parse(data)
	return at(&document{err: err}, &whole, "")
}

func at(d *document, value *json.Value, path string) Value {
	if d.err != nil || value != nil && value.Kind == json.Null {
		value = nil
	}
	return Value{document: d, value: value, path: path}
}

// Err returns the first mistake in the configuration; nil if there is none.
func (v Value) Err() error { return v.err }

// Exists reports whether the value is there and not null.
func (v Value) Exists() bool { return v.value != nil && v.err == nil }

// IsText reports whether the value is a string.
func (v Value) IsText() bool { return v.Exists() && v.value.Kind == json.String }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.Exists() && v.value.Kind == json.List }

// Refuse makes a text the mistake of this value, unless there is one already.
func (v Value) Refuse(text string) {
	if v.err != nil {
		return
	}
	path := v.path
	if path == "" {
		path = "the configuration"
	}
	v.err = errors.New(path + ": " + text)
}

// Key returns the key of a value that Fields returned.
func (v Value) Key() string { return v.key }

// is reports whether the value exists, and refuses another kind than the given one.
func (v Value) is(kind byte) bool {
	if !v.Exists() {
		return false
	}
	if v.value.Kind != kind {
		v.Refuse("expected " + name(kind) + ", found " + name(v.value.Kind))
	}
	return v.value.Kind == kind
}

// name returns the name of a kind of values.
func name(kind byte) string {
	switch kind {
	case json.Object:
		return "an object"
	case json.List:
		return "a list"
	case json.String:
		return "a string"
	case json.Bool:
		return "true or false"
	}
	return "a number"
}

// Get returns the value of a key of this object, the last one of equal keys.
func (v Value) Get(key string) Value {
	if !v.is(json.Object) {
		return at(v.document, nil, v.path)
	}
	return at(v.document, v.value.Get(key), v.under(key))
}

// under returns the path of a key of this object.
func (v Value) under(key string) string {
	if v.path == "" {
		return key
	}
	return v.path + "." + key
}

// Need is Get for a key that must be there.
func (v Value) Need(key string) Value {
	value := v.Get(key)
	if !value.Exists() {
		v.Refuse("the field " + key + " is missing")
	}
	return value
}

// Only refuses other keys of this object than the given ones.
func (v Value) Only(keys ...string) {
	for _, field := range v.Fields() {
		known := false
		for _, key := range keys {
			known = known || key == field.key
		}
		if !known {
			field.Refuse("there is no such field; there are " + strings.Join(keys, ", "))
		}
	}
}

// Elements returns the elements of this list.
func (v Value) Elements() []Value {
	if !v.is(json.List) {
		return nil
	}
	all := make([]Value, 0, len(v.value.Items))
	for i := range v.value.Items {
		all = append(all, at(v.document, &v.value.Items[i], v.path+"["+strconv.Itoa(i)+"]"))
	}
	return all
}

// Fields returns the values of this object in their order, with their keys.
func (v Value) Fields() []Value {
	if !v.is(json.Object) {
		return nil
	}
	all := make([]Value, 0, len(v.value.Items))
	for i := range v.value.Items {
		item := &v.value.Items[i]
		field := at(v.document, item, v.under(item.Key))
		field.key = item.Key
		all = append(all, field)
	}
	return all
}

// Text returns this string; otherwise if it is absent.
func (v Value) Text(otherwise string) string {
	if !v.is(json.String) {
		return otherwise
	}
	return v.value.Text
}

// Bool returns this value as true or false; otherwise if it is absent.
func (v Value) Bool(otherwise bool) bool {
	if !v.is(json.Bool) {
		return otherwise
	}
	return v.value.Text == "true"
}

// Int64 returns this whole number; otherwise if it is absent.
func (v Value) Int64(otherwise int64) int64 {
	if !v.is(json.Number) {
		return otherwise
	}
	n, err := strconv.ParseInt(v.value.Text, 10, 64)
	if err != nil {
		v.Refuse(v.value.Text + " is not a whole number of 64 bits")
		return otherwise
	}
	return n
}

// Float64 returns this number; otherwise if it is absent.
func (v Value) Float64(otherwise float64) float64 {
	if !v.is(json.Number) {
		return otherwise
	}
	n, err := strconv.ParseFloat(v.value.Text, 64)
	if err != nil {
		v.Refuse(v.value.Text + " is beyond the numbers of 64 bits")
		return otherwise
	}
	return n
}
