package schema

import "math"

// node is a compiled schema. The fields are named after the keywords of JSON Schema
// 2020-12.
type node struct {
	nothing bool // the schema false
	types   []string
	enum    []any
	hasEnum bool
	konst   any
	isConst bool
	// Numbers; nil if absent.
	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf any

	length, items, properties, contained size
	pattern                              *pattern
	unique                               bool

	required          []string
	dependentRequired []dependency
	fields            map[string]*node // properties
	patternFields     []patternField
	additional, names *node // additionalProperties, propertyNames

	prefix         []*node // prefixItems
	rest, contains *node   // items, contains

	ref, not                   *node
	condition, then, otherwise *node // if, then, else
	allOf, anyOf, oneOf        []*node
	dependentSchemas           []dependency

	unevaluatedProperties, unevaluatedItems *node
}

// size is a minimum and a maximum.
type size struct{ least, most int }

func anySize() size { return size{0, math.MaxInt} }

// dependency is what an object must satisfy if it has a field.
type dependency struct {
	name     string
	required []string
	schema   *node
}

// patternField is a pattern of names and the schema of the fields that match.
type patternField struct {
	pattern *pattern
	schema  *node
}

// inPlace returns the schemas that apply to the same value.
func (n *node) inPlace() []*node {
	var out []*node
	for _, s := range []*node{n.ref, n.not, n.condition, n.then, n.otherwise} {
		if s != nil {
			out = append(out, s)
		}
	}
	for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf} {
		out = append(out, list...)
	}
	for _, d := range n.dependentSchemas {
		out = append(out, d.schema)
	}
	return out
}
