package schema

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// TestAsLibrary: for random schemas and values, this package and google/jsonschema-go agree.
// Values are few and small, so that keywords interact.
func TestAsLibrary(t *testing.T) {
	var seen [2]int
	seeded.Check(t, asLibrary(&seen))
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("%d fit, %d did not: both should occur", seen[0], seen[1])
	}
}

// asLibrary is the property. It counts values that fit and values that do not.
func asLibrary(seen *[2]int) func(*rapid.T) {
	return func(t *rapid.T) {
		schemaText := marshal(t, map[string]any{
			"$defs":   map[string]any{"a": drawSchema(t, 2), "b": drawSchema(t, 1)},
			"allOf":   []any{drawSchema(t, 3)},
			"not":     map[string]any{"const": "never"},
			"$schema": draft202012,
		})
		var theirs jsonschema.Schema
		if err := json.Unmarshal(schemaText, &theirs); err != nil {
			t.Fatalf("%s: %v", schemaText, err)
		}
		s, _, err := New(schemaText)
		if err != nil {
			if !strings.Contains(err.Error(), "refers to itself for the same value") {
				t.Fatalf("%s: %v", schemaText, err)
			}
			return // the library would not terminate
		}
		resolved, err := theirs.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", schemaText, err)
		}
		for range 5 {
			text := marshal(t, drawValue(t, 3))
			value, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			var plain any
			if err := json.Unmarshal(text, &plain); err != nil {
				t.Fatal(err)
			}
			problems, wrong := s.validate(value), resolved.Validate(plain)
			if (len(problems) == 0) != (wrong == nil) {
				t.Fatalf("%s\n%s\nwe say %v, they say %v", schemaText, text, problems, wrong)
			}
			if wrong == nil {
				seen[0]++
			} else {
				seen[1]++
			}
		}
	}
}

func marshal(t *rapid.T, v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawValue draws a value with few fields, elements and strings.
func drawValue(t *rapid.T, depth int) any {
	most := 6
	if depth == 0 {
		most = 4
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.IntRange(-4, 12).Draw(t, "number")) / 2
	case 3, 4:
		return rapid.SampledFrom([]string{"", "a", "b", "ab", "ä"}).Draw(t, "text")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		m[drawName(t)] = drawValue(t, depth-1)
	}
	return m
}

func drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "ab", "c"}).Draw(t, "name")
}

// drawSchema draws a schema with a few keywords.
func drawSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
		return rapid.Bool().Draw(t, "any or none")
	}
	s := map[string]any{}
	names := []string{
		"type", "enum", "const", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
		"uniqueItems", "minProperties", "maxProperties", "required", "dependentRequired",
	}
	if depth > 0 {
		names = append(names, "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "properties", "patternProperties", "additionalProperties",
			"propertyNames", "prefixItems", "items", "contains", "minContains", "maxContains", "dependentSchemas",
			"unevaluatedProperties", "unevaluatedItems")
	}
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		name := rapid.SampledFrom(names).Draw(t, "keyword")
		s[name] = drawKeyword(t, name, depth)
	}
	return s
}

func drawKeyword(t *rapid.T, name string, depth int) any {
	list := func(least int, draw func() any) []any {
		out := []any{}
		for range rapid.IntRange(least, 3).Draw(t, "length") {
			out = append(out, draw())
		}
		return out
	}
	schema := func() any { return drawSchema(t, depth-1) }
	switch name {
	case "type":
		return rapid.SampledFrom([]any{"null", "boolean", "integer", "number", "string", "array", "object", []any{"array", "object"}}).Draw(t, "type")
	case "enum":
		return list(0, func() any { return drawValue(t, 1) })
	case "const":
		return drawValue(t, 1)
	case "minimum", "exclusiveMaximum":
		return float64(rapid.IntRange(-2, 6).Draw(t, "bound")) / 2
	case "multipleOf":
		return rapid.SampledFrom([]float64{0.5, 1, 2, 1.5}).Draw(t, "of")
	case "pattern":
		return rapid.SampledFrom([]string{"a", "^a", "b$", "^(a|b)*$"}).Draw(t, "pattern")
	case "uniqueItems":
		return rapid.Bool().Draw(t, "unique")
	case "required":
		return list(0, func() any { return drawName(t) })
	case "dependentRequired":
		return map[string]any{drawName(t): list(0, func() any { return drawName(t) })}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return list(1, schema)
	case "$ref":
		return "#/$defs/" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "ref")
	case "properties", "dependentSchemas":
		return map[string]any{drawName(t): schema(), drawName(t): schema()}
	case "patternProperties":
		return map[string]any{"^" + drawName(t): schema()}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return json.Number(strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "size")))
	}
	return schema()
}
