package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/internal/plain"
)

const schemaFix = "see https://json-schema.org/draft/2020-12 (ABI-9.8)"

// compiler compiles a schema to nodes. It refuses what this host does not support (identifiers,
// anchors, references to other documents) and schemas that exceed the limits of ABI-10.
type compiler struct {
	keywords map[string]kind
	at       path
	nodes    []*node
	parts    map[*node]map[string]*node // subschemas of a schema, by keyword or keyword/name
	places   map[*node]string           // for messages
	refs     []reference
	patterns patterns
	remarks  findings
	remarked int // the number of remarks, also of those that are left out
}

// reference is a $ref to resolve.
type reference struct {
	from *node
	to   string // a JSON pointer
}

// kind says in which form a keyword contains schemas.
type kind int

const (
	unknown kind = iota
	noSchema
	oneSchema
	schemaList
	schemaMap
)

// keywords returns the keywords of JSON Schema 2020-12.
func keywords() map[string]kind {
	out := map[string]kind{}
	add := func(k kind, names string) {
		for name := range strings.FieldsSeq(names) {
			out[name] = k
		}
	}
	add(oneSchema, `items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties contentSchema
		not if then else`)
	add(schemaList, "prefixItems allOf anyOf oneOf")
	add(schemaMap, "$defs properties patternProperties dependentSchemas")
	add(noSchema, `$ref $comment title description default deprecated readOnly writeOnly examples type enum const multipleOf
		minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems minContains
		maxContains minProperties maxProperties required dependentRequired contentEncoding contentMediaType format`)
	return out
}

// compile compiles the whole schema.
func (c *compiler) compile(root any) (*node, error) {
	c.remarks.most = MaxProblems
	c.places = map[*node]string{}
	n, err := c.schema(root, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range c.refs {
		to := c.resolve(n, r.to)
		if to == nil {
			return nil, &Problem{Path: plain.Cut(Join(c.places[r.from], "$ref"), MaxPath), Detail: "no schema at " + Show("#"+r.to), Fix: `write "#/$defs/…"`}
		}
		r.from.ref = to
	}
	return n, c.ends()
}

// fail returns a mistake at the current path, or at a key below it.
func (c *compiler) fail(key, detail, fix string) error {
	at := slices.Clone(c.at)
	if key != "" {
		at.push(step{name: key, field: true})
	}
	return &Problem{Path: at.String(), Detail: detail, Fix: fix}
}

// schema compiles a schema at a depth.
func (c *compiler) schema(value any, depth int) (*node, error) {
	if len(c.nodes) == abi.MaxSchemas {
		return nil, c.fail("", tooMany(abi.MaxSchemas, "schemas"), "simplify the schema")
	}
	if depth > abi.MaxSchemaDepth {
		return nil, c.fail("", fmt.Sprintf("schemas are nested deeper than %d (ABI-10)", abi.MaxSchemaDepth), "move parts to $defs, and refer to them with $ref")
	}
	n := &node{length: anySize(), items: anySize(), properties: anySize(), contained: size{1, math.MaxInt}}
	c.nodes = append(c.nodes, n)
	c.places[n] = c.at.String()
	switch s := value.(type) {
	case bool:
		n.nothing = !s
	case map[string]any:
		for _, key := range keys(s) {
			if err := c.keyword(n, key, s[key], depth); err != nil {
				return nil, err
			}
		}
	default:
		return nil, c.fail("", "expected a schema, which is an object, true or false, found "+Show(value), schemaFix)
	}
	c.unnamed(n)
	return n, nil
}

// unnamed warns about required properties that the schema does not describe.
func (c *compiler) unnamed(n *node) {
	if len(n.fields) == 0 || len(n.patternFields) > 0 {
		return
	}
	for _, name := range n.required {
		if n.fields[name] == nil {
			c.remark("required", func() (detail, near string) {
				return "requires " + Show(name) + ", which is not among the properties", nearest.DidYouMean(name, keys(n.fields))
			})
		}
	}
}

// keyword compiles one keyword of a schema.
func (c *compiler) keyword(n *node, key string, value any, depth int) error {
	switch key {
	case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "$schema":
		return c.fail(key, "it is not supported here", "refer to $defs with $ref")
	}
	c.at.push(step{name: key, field: true})
	defer c.at.pop()
	switch c.keywords[key] {
	case unknown:
		c.unknown(key)
		return nil
	case oneSchema:
		s, err := c.schema(value, depth+1)
		if err != nil {
			return err
		}
		c.hold(n, key, s)
		n.one(key, s)
	case schemaList:
		return c.list(n, key, value, depth)
	case schemaMap:
		return c.fields(n, key, value, depth)
	case noSchema:
		return c.plain(n, key, value)
	}
	return nil
}

// hold records a subschema, so that references can find it.
func (c *compiler) hold(in *node, key string, s *node) {
	if c.parts[in] == nil {
		c.parts[in] = map[string]*node{}
	}
	c.parts[in][key] = s
}

func (n *node) one(key string, s *node) {
	switch key {
	case "items":
		n.rest = s
	case "contains":
		n.contains = s
	case "additionalProperties":
		n.additional = s
	case "propertyNames":
		n.names = s
	case "unevaluatedItems":
		n.unevaluatedItems = s
	case "unevaluatedProperties":
		n.unevaluatedProperties = s
	case "not":
		n.not = s
	case "if":
		n.condition = s
	case "then":
		n.then = s
	case "else":
		n.otherwise = s
	}
}

// list compiles a keyword that has a list of schemas.
func (c *compiler) list(n *node, key string, value any, depth int) error {
	items, ok := value.([]any)
	switch {
	case !ok || len(items) == 0:
		return c.fail("", "expected a list of at least one schema, found "+Show(value), schemaFix)
	case len(items) > abi.MaxSchemaBranches:
		return c.fail("", tooMany(abi.MaxSchemaBranches, "schemas in a list"), "simplify the schema")
	}
	all := make([]*node, len(items))
	for i, item := range items {
		c.at.push(step{index: i})
		s, err := c.schema(item, depth+1)
		c.at.pop()
		if err != nil {
			return err
		}
		c.hold(n, key+"/"+strconv.Itoa(i), s)
		all[i] = s
	}
	switch key {
	case "prefixItems":
		n.prefix = all
	case "allOf":
		n.allOf = all
	case "anyOf":
		n.anyOf = all
	case "oneOf":
		n.oneOf = all
	}
	return nil
}

// fields compiles a keyword that has an object of schemas.
func (c *compiler) fields(n *node, key string, value any, depth int) error {
	m, ok := value.(map[string]any)
	if !ok {
		return c.fail("", "expected an object, found "+Show(value), schemaFix)
	}
	for _, name := range keys(m) {
		c.at.push(step{name: name, field: true})
		s, err := c.schema(m[name], depth+1)
		if err == nil && key == "patternProperties" {
			var p *pattern
			p, err = c.pattern(name)
			n.patternFields = append(n.patternFields, patternField{p, s})
		}
		c.at.pop()
		if err != nil {
			return err
		}
		c.hold(n, key+"/"+name, s)
		switch key {
		case "properties":
			if n.fields == nil {
				n.fields = map[string]*node{}
			}
			n.fields[name] = s
		case "dependentSchemas":
			n.dependentSchemas = append(n.dependentSchemas, dependency{name: name, schema: s})
		}
	}
	return nil
}

// unknown warns about an unknown keyword.
func (c *compiler) unknown(key string) {
	if strings.HasPrefix(key, "x-") {
		return
	}
	c.remark("", func() (detail, near string) {
		return "unknown keyword, which has no effect", nearest.DidYouMean(key, keys(c.keywords))
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

// plain compiles a keyword without subschemas.
func (c *compiler) plain(n *node, key string, value any) (err error) {
	switch key {
	case "type":
		n.types, err = c.types(value)
	case "enum":
		n.hasEnum = true
		n.enum, err = c.values(value)
	case "const":
		var bad *Problem
		if n.konst, bad = newInstance(value); bad != nil {
			return c.fail("", bad.Detail, schemaFix)
		}
		n.isConst = true
	case "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return c.bound(n, key, value)
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		return c.size(n, key, value)
	case "pattern":
		text, ok := value.(string)
		if !ok {
			return c.fail("", "expected a string, found "+Show(value), schemaFix)
		}
		n.pattern, err = c.pattern(text)
	case "uniqueItems":
		ok := false
		if n.unique, ok = value.(bool); !ok {
			return c.fail("", "expected true or false, found "+Show(value), schemaFix)
		}
	case "required":
		n.required, err = c.texts(value)
	case "dependentRequired":
		m, ok := value.(map[string]any)
		if !ok {
			return c.fail("", "expected an object, found "+Show(value), schemaFix)
		}
		for _, name := range keys(m) {
			needs, err := c.texts(m[name])
			if err != nil {
				return err
			}
			n.dependentRequired = append(n.dependentRequired, dependency{name: name, required: needs})
		}
	case "$ref":
		to, err := localPointer(value)
		if err != nil {
			return c.fail("", err.Error(), `write "#/$defs/…"`)
		}
		c.refs = append(c.refs, reference{n, to})
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
			return nil, c.fail("", Show(item)+" is not a type", "write one of "+strings.Join(known, ", "))
		}
		if slices.Contains(out, name) {
			return nil, c.fail("", Show(item)+" appears twice", "keep one")
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, c.fail("", "the list is empty", "write one of "+strings.Join(known, ", "))
	}
	return out, nil
}

func (c *compiler) values(value any) ([]any, error) {
	if _, ok := value.([]any); !ok {
		return nil, c.fail("", "expected a list, found "+Show(value), schemaFix)
	}
	out, bad := newInstance(value)
	if bad != nil {
		return nil, c.fail("", bad.Detail, schemaFix)
	}
	list, _ := out.([]any)
	return list, nil
}

func (c *compiler) texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, c.fail("", "expected a list of strings, found "+Show(value), schemaFix)
	}
	out := make([]string, len(list))
	for i, item := range list {
		if out[i], ok = item.(string); !ok {
			return nil, c.fail("", "expected a list of strings, found "+Show(item)+" in it", schemaFix)
		}
	}
	return out, nil
}

func (c *compiler) number(value any) (any, error) {
	text, ok := value.(json.Number)
	if !ok {
		return nil, c.fail("", "expected a number, found "+Show(value), schemaFix)
	}
	n, bad := parseNumber(text.String())
	if bad != "" {
		return nil, c.fail("", bad, schemaFix)
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
			return c.fail("", Show(value)+" is not more than 0", schemaFix)
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
		return c.fail("", Show(value)+" is not a whole number from 0", schemaFix)
	}
	most, whole := number.(int64)
	if !whole { // larger than any size
		most = math.MaxInt64
	}
	of := map[string]*size{"Length": &n.length, "Items": &n.items, "Contains": &n.contained, "Properties": &n.properties}[key[3:]]
	if strings.HasPrefix(key, "min") {
		of.least = int(most)
	} else {
		of.most = int(most)
	}
	return nil
}
