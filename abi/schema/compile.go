package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/nearest"
)

const schemaFix = "see ABI-9.8"

// compiler compiles a schema to nodes. It ignores other keywords than those of ABI-9.8, with a remark, and refuses schemas that
// exceed the limits of ABI-10.
type compiler struct {
	keywords map[string]kind
	at       path
	// named are the properties of the schemas around this one that are about the same value.
	named    []map[string]any
	schemas  int
	patterns patterns
	remarks  findings
	remarked int // the number of remarks, also of those that are left out
}

// kind says what a keyword contains.
type kind int

const (
	unknown    kind = iota
	annotation      // nothing that is checked
	oneSchema
	schemaList
	schemaMap
	numeric
	sized // a whole number from 0
	literal
)

// keywords returns the keywords of ABI-9.8: those of the structural schemas of CustomResourceDefinitions, but with the meaning
// that JSON Schema 2020-12 gives them.
func keywords() map[string]kind {
	out := map[string]kind{}
	add := func(k kind, names string) {
		for name := range strings.FieldsSeq(names) {
			out[name] = k
		}
	}
	add(annotation, "$id $schema $comment title description default example examples format deprecated readOnly writeOnly")
	add(oneSchema, "items additionalProperties not")
	add(schemaList, "allOf anyOf oneOf")
	add(schemaMap, "properties")
	add(numeric, "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum")
	add(sized, "minLength maxLength minItems maxItems minProperties maxProperties")
	add(literal, "type enum const pattern uniqueItems required")
	return out
}

// compile compiles the whole schema.
func (c *compiler) compile(root any) (*node, error) {
	c.remarks.most = MaxProblems
	return c.schema(root, 0)
}

// fail returns a mistake at the current path.
func (c *compiler) fail(detail, fix string) error {
	return &Problem{Path: c.at.String(), Detail: detail, Fix: fix}
}

// schema compiles a schema at a depth.
func (c *compiler) schema(value any, depth int) (*node, error) {
	if c.schemas++; c.schemas > abi.MaxSchemas {
		return nil, c.fail(tooMany(abi.MaxSchemas, "schemas"), "simplify the schema")
	}
	if depth > abi.MaxSchemaDepth {
		return nil, c.fail(fmt.Sprintf("schemas are nested deeper than %d (ABI-10)", abi.MaxSchemaDepth), "simplify the schema")
	}
	n := newNode()
	switch s := value.(type) {
	case bool:
		n.nothing = !s
	case map[string]any:
		var ignored []string
		if properties, ok := s["properties"].(map[string]any); ok {
			c.named = append(c.named, properties)
			defer func(n int) { c.named = c.named[:n] }(len(c.named) - 1)
		}
		for _, key := range keys(s) {
			if c.keywords[key] == unknown && !strings.HasPrefix(key, "x-") {
				ignored = append(ignored, key)
			}
			if err := c.keyword(n, key, s[key], depth); err != nil {
				return nil, err
			}
		}
		n.relax(ignored)
		if !slices.Contains(ignored, "patternProperties") {
			c.unnamed(n)
		}
	default:
		return nil, c.fail("expected a schema, which is an object, true or false, found "+Show(value), schemaFix)
	}
	return n, nil
}

// unnamed warns about required properties that the schema does not describe.
func (c *compiler) unnamed(n *node) {
	if len(n.fields) == 0 {
		return
	}
	for _, name := range n.required {
		if !slices.ContainsFunc(c.named, func(in map[string]any) bool { _, ok := in[name]; return ok }) {
			c.remark("required", func() (detail, near string) {
				return "requires " + Show(name) + ", which is not among the properties", nearest.DidYouMean(name, keys(n.fields))
			})
		}
	}
}

// keyword compiles one keyword of a schema.
func (c *compiler) keyword(n *node, key string, value any, depth int) (err error) {
	c.at.push(step{name: key, field: true})
	defer c.at.pop()
	switch c.keywords[key] {
	case unknown:
		c.unknown(key)
	case oneSchema:
		if key != "not" {
			defer c.another()()
		}
		slot := map[string]**node{"items": &n.element, "additionalProperties": &n.additional, "not": &n.not}[key]
		*slot, err = c.below(n, value, depth)
	case schemaList:
		slot := map[string]*[]*node{"allOf": &n.allOf, "anyOf": &n.anyOf, "oneOf": &n.oneOf}[key]
		*slot, err = c.list(n, value, depth)
	case schemaMap:
		defer c.another()()
		err = c.fields(n, value, depth)
	case numeric:
		err = c.bound(n, key, value)
	case sized:
		err = c.size(n, key, value)
	case literal:
		err = c.literal(n, key, value)
	}
	return err
}

// another begins schemas about another value, until the function that it returns is called.
func (c *compiler) another() (end func()) {
	around := c.named
	c.named = nil
	return func() { c.named = around }
}

// below compiles a schema that is part of n's.
func (c *compiler) below(n *node, value any, depth int) (*node, error) {
	s, err := c.schema(value, depth+1)
	if err == nil {
		n.partial = n.partial || s.partial
	}
	return s, err
}

// list compiles a keyword that has a list of schemas.
func (c *compiler) list(n *node, value any, depth int) ([]*node, error) {
	items, ok := value.([]any)
	switch {
	case !ok || len(items) == 0:
		return nil, c.fail("expected a list of at least one schema, found "+Show(value), schemaFix)
	case len(items) > abi.MaxSchemaBranches:
		return nil, c.fail(tooMany(abi.MaxSchemaBranches, "schemas in a list"), "simplify the schema")
	}
	all := make([]*node, len(items))
	for i, item := range items {
		c.at.push(step{index: i})
		s, err := c.below(n, item, depth)
		c.at.pop()
		if err != nil {
			return nil, err
		}
		all[i] = s
	}
	return all, nil
}

// fields compiles properties.
func (c *compiler) fields(n *node, value any, depth int) error {
	m, ok := value.(map[string]any)
	if !ok {
		return c.fail("expected an object, found "+Show(value), schemaFix)
	}
	n.fields = make(map[string]*node, len(m))
	for _, name := range keys(m) {
		c.at.push(step{name: name, field: true})
		s, err := c.below(n, m[name], depth)
		c.at.pop()
		if err != nil {
			return err
		}
		n.fields[name] = s
	}
	return nil
}

// unknown warns about a keyword that is ignored.
func (c *compiler) unknown(key string) {
	if strings.HasPrefix(key, "x-") {
		return
	}
	c.remark("", func() (detail, near string) {
		return "not a keyword of ABI-9.8, ignored", nearest.DidYouMean(key, keys(c.keywords))
	})
}

// remark warns about the current path, or a key below it. Nothing is made for remarks that are
// left out.
func (c *compiler) remark(key string, text func() (detail, near string)) {
	if c.remarked++; c.remarked > MaxProblems {
		return
	}
	detail, near := text()
	if near != "" {
		near = "; " + near
	}
	at := c.at.String()
	if key != "" {
		at = Join(at, key)
	}
	c.remarks.add(Problem{Path: at, Detail: detail, Fix: near})
}

// literal compiles a keyword that is neither a schema nor a number.
func (c *compiler) literal(n *node, key string, value any) (err error) {
	switch key {
	case "type":
		n.types, err = c.types(value)
	case "enum":
		n.hasEnum = true
		n.enum, err = c.values(value)
	case "const": // an enum of one; beside an enum the narrower of the two
		only := newNode()
		only.hasEnum = true
		if only.enum, err = c.values([]any{value}); err == nil {
			n.allOf = append(n.allOf, only)
		}
	case "pattern":
		text, ok := value.(string)
		if !ok {
			return c.fail("expected a string, found "+Show(value), schemaFix)
		}
		n.pattern, err = c.pattern(text)
	case "uniqueItems":
		ok := false
		if n.unique, ok = value.(bool); !ok {
			return c.fail("expected true or false, found "+Show(value), schemaFix)
		}
	case "required":
		n.required, err = c.texts(value)
	}
	return err
}

func (c *compiler) types(value any) ([]string, error) {
	known := []string{"null", "boolean", "integer", "number", "string", "array", "object"}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var out []string
	for _, item := range list {
		name, _ := item.(string)
		if !slices.Contains(known, name) {
			return nil, c.fail(Show(item)+" is not a type", "write one of "+strings.Join(known, ", "))
		}
		if slices.Contains(out, name) {
			return nil, c.fail(Show(item)+" appears twice", "keep one")
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, c.fail("the list is empty", "write one of "+strings.Join(known, ", "))
	}
	return out, nil
}

func (c *compiler) values(value any) ([]any, error) {
	if _, ok := value.([]any); !ok {
		return nil, c.fail("expected a list, found "+Show(value), schemaFix)
	}
	out, bad := newInstance(value)
	if bad != nil {
		return nil, c.fail(bad.Detail, schemaFix)
	}
	list, _ := out.([]any)
	return list, nil
}

func (c *compiler) texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, c.fail("expected a list of strings, found "+Show(value), schemaFix)
	}
	out := make([]string, len(list))
	for i, item := range list {
		if out[i], ok = item.(string); !ok {
			return nil, c.fail("expected a list of strings, found "+Show(item)+" in it", schemaFix)
		}
	}
	return out, nil
}

func (c *compiler) number(value any) (any, error) {
	text, ok := value.(json.Number)
	if !ok {
		return nil, c.fail("expected a number, found "+Show(value), schemaFix)
	}
	n, bad := parseNumber(text.String())
	if bad != "" {
		return nil, c.fail(bad, schemaFix)
	}
	return n, nil
}

func (c *compiler) bound(n *node, key string, value any) error {
	number, err := c.number(value)
	if err != nil {
		return err
	}
	switch key {
	case "multipleOf":
		if compareNumbers(number, int64(0)) <= 0 {
			return c.fail(Show(value)+" is not more than 0", schemaFix)
		}
		n.multipleOf = number
	case "minimum":
		n.minimum = number
	case "maximum":
		n.maximum = number
	case "exclusiveMinimum":
		n.exclusiveMinimum = number
	case "exclusiveMaximum":
		n.exclusiveMaximum = number
	}
	return nil
}

func (c *compiler) size(n *node, key string, value any) error {
	number, err := c.number(value)
	if err != nil {
		return err
	}
	if typeOf(number) != "integer" || compareNumbers(number, int64(0)) < 0 {
		return c.fail(Show(value)+" is not a whole number from 0", schemaFix)
	}
	most, whole := number.(int64)
	if !whole { // larger than any size
		most = math.MaxInt64
	}
	of := map[string]*size{"Length": &n.length, "Items": &n.items, "Properties": &n.properties}[key[3:]]
	if strings.HasPrefix(key, "min") {
		of.least = int(most)
	} else {
		of.most = int(most)
	}
	return nil
}
