package schema

import (
	"math"
	"slices"
)

// node is a compiled schema. The fields are named after the keywords of JSON Schema
// 2020-12.
type node struct {
	nothing bool // the schema false
	// partial is set if the schema, or one below it, has a keyword that is ignored: then more values may fit.
	partial bool
	types   []string
	enum    []any
	hasEnum bool
	// Numbers; nil if absent.
	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf any

	length, items, properties size
	pattern                   *pattern
	unique                    bool

	required            []string
	fields              map[string]*node // properties
	additional          *node            // additionalProperties
	element             *node            // items
	not                 *node
	allOf, anyOf, oneOf []*node
}

// size is a minimum and a maximum.
type size struct{ least, most int }

func anySize() size { return size{0, math.MaxInt} }

// relax drops what would refuse a value that fits the whole schema, because a keyword next to it or below it is ignored.
func (n *node) relax(ignored []string) {
	n.partial = n.partial || len(ignored) > 0
	if slices.Contains(ignored, "patternProperties") {
		n.additional = nil
	}
	if slices.Contains(ignored, "prefixItems") {
		n.element = nil
	}
	if n.not != nil && n.not.partial {
		n.not = nil
	}
	if slices.ContainsFunc(n.oneOf, func(s *node) bool { return s.partial }) {
		atLeastOne := newNode()
		atLeastOne.anyOf = n.oneOf
		n.allOf, n.oneOf = append(n.allOf, atLeastOne), nil
	}
}

func newNode() *node { return &node{length: anySize(), items: anySize(), properties: anySize()} }
