package cel

import (
	"maps"
	"slices"
)

// Kind is a kind of values.
type Kind uint8

// The kinds. Any is the type of the elements of [], until something says more.
const (
	Any Kind = iota
	Bool
	Int
	Double
	String
	ListOf
	MapOf // with keys of strings
	Object
)

// Type is the type of an expression.
type Type struct {
	Kind Kind
	// Elem is the type of the elements of a list or a map.
	Elem *Type
	// Name and Fields are of an object: the values of its fields are in the same order.
	Name   string
	Fields []Field
}

// Field is a field of an object.
type Field struct {
	Name string
	Type Type
}

// Of returns the type of a kind without elements.
func Of(kind Kind) Type { return Type{Kind: kind} }

// List returns the type of lists.
func List(elem Type) Type { return Type{Kind: ListOf, Elem: &elem} }

// Map returns the type of maps with keys of strings.
func Map(elem Type) Type { return Type{Kind: MapOf, Elem: &elem} }

// String returns the type in the words of CEL.
func (t Type) String() string {
	switch t.Kind {
	case Bool:
		return "bool"
	case Int:
		return "int"
	case Double:
		return "double"
	case String:
		return "string"
	case ListOf:
		return "list(" + t.Elem.String() + ")"
	case MapOf:
		return "map(string, " + t.Elem.String() + ")"
	case Object:
		return t.Name
	}
	return "any"
}

// common returns the type that two types have in common; false if there is none.
func common(a, b Type) (Type, bool) {
	switch {
	case a.Kind == Any:
		return b, true
	case b.Kind == Any:
		return a, true
	case a.Kind != b.Kind || a.Kind == Object && a.Name != b.Name:
		return Type{}, false
	case a.Kind == ListOf || a.Kind == MapOf:
		elem, ok := common(*a.Elem, *b.Elem)
		return Type{Kind: a.Kind, Elem: &elem}, ok
	}
	return a, true
}

// Variable is what an expression can name.
type Variable struct {
	// Name has two parts, such as node.labels.
	Name string
	Type Type
	// Node is whether its value is another one for each node; otherwise it is the pod's.
	Node bool
	// Keys are all keys of a map, if they are known: an entry is then asked for by its number. Named says where keys are named.
	Keys  []string
	Named string
}

// Source has the values of variables.
type Source interface {
	// Value returns the value of a variable without known keys.
	Value(variable int) Value
	// Entry returns the value of a known key of a variable; false if it is not there now.
	Entry(variable, key int) (Value, bool)
}

// Value is a value of an expression.
type Value struct {
	bits uint64
	text string
	all  *Elements
}

// Elements are those of a list, a map or an object.
type Elements struct {
	// Keys are those of a map, sorted, in the order of Values.
	Keys   []string
	Values []Value
}

// BoolValue returns a bool.
func BoolValue(b bool) Value {
	if b {
		return Value{bits: 1}
	}
	return Value{}
}

// IntValue returns an int.
func IntValue(n int64) Value { return Value{bits: uint64(n)} }

// StringValue returns a string.
func StringValue(s string) Value { return Value{text: s} }

// ElementsValue returns a list, a map or an object.
func ElementsValue(e *Elements) Value { return Value{all: e} }

// MapValue returns a map.
func MapValue(all map[string]Value) Value {
	e := &Elements{Keys: slices.Sorted(maps.Keys(all)), Values: make([]Value, 0, len(all))}
	for _, k := range e.Keys {
		e.Values = append(e.Values, all[k])
	}
	return ElementsValue(e)
}

// Bool returns a bool.
func (v Value) Bool() bool { return v.bits != 0 }

// Int returns an int.
func (v Value) Int() int64 { return int64(v.bits) }

// Double returns a double.
func (v Value) Double() float64 { return float(v.bits) }

// Text returns a string.
func (v Value) Text() string { return v.text }

// Elements returns the elements of a list, a map or an object.
func (v Value) Elements() *Elements { return v.all }

// find returns the value of a key of a map.
func (e *Elements) find(key string) (Value, bool) {
	lo, hi := 0, len(e.Keys)
	for lo < hi {
		middle := (lo + hi) / 2
		if e.Keys[middle] < key {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	if lo < len(e.Keys) && e.Keys[lo] == key {
		return e.Values[lo], true
	}
	return Value{}, false
}
