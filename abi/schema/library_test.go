package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// kept are the keywords of ABI-9.8 that this package checks, ignored are others of JSON Schema.
const (
	kept = "type enum const minimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems " +
		"minProperties maxProperties required allOf anyOf oneOf not properties additionalProperties items"
	ignored = "dependentRequired if then else $ref patternProperties propertyNames prefixItems contains minContains maxContains " +
		"dependentSchemas unevaluatedProperties unevaluatedItems"
)

// TestAsLibrary: for random schemas of the keywords of ABI-9.8 and random values, this package and google/jsonschema-go agree.
// Values are few and small, so that keywords interact.
func TestAsLibrary(t *testing.T) {
	var seen [2]int
	seeded.Check(t, asLibrary(kept, &seen))
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("%d fit, %d did not: both should occur", seen[0], seen[1])
	}
}

// TestIgnored: a keyword that is ignored never has a value refused that fits the whole schema.
func TestIgnored(t *testing.T) {
	var seen [2]int
	seeded.Check(t, asLibrary(kept+" "+ignored, &seen))
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("%d fit, %d did not: both should occur", seen[0], seen[1])
	}
}

// asLibrary is the property, for schemas of the given keywords. It counts values that fit the whole schema and values that do not.
func asLibrary(keywords string, seen *[2]int) func(*rapid.T) {
	names := strings.Fields(keywords)
	return func(t *rapid.T) {
		schemaText := marshal(t, map[string]any{
			"$defs":   map[string]any{"a": drawSchema(t, 1, names), "b": drawSchema(t, 0, strings.Fields(kept))},
			"allOf":   []any{drawSchema(t, 3, names)},
			"not":     map[string]any{"const": "never"},
			"$schema": draft202012,
		})
		var theirs jsonschema.Schema
		if err := json.Unmarshal(schemaText, &theirs); err != nil {
			t.Fatalf("%s: %v", schemaText, err)
		}
		s, remarks, err := New(schemaText)
		if err != nil {
			t.Fatalf("%s: %v", schemaText, err)
		}
		whole := len(remarks) == 1 // that of $defs
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
			if fits := len(problems) == 0; fits != (wrong == nil) && (whole || !fits) {
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

// drawSchema draws a schema with a few of the keywords. A reference leads to $defs/b, which has none, so that checking ends.
func drawSchema(t *rapid.T, depth int, names []string) any {
	if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
		return rapid.Bool().Draw(t, "any or none")
	}
	s := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		name := rapid.SampledFrom(names).Draw(t, "keyword")
		if depth > 0 || !nests(name) {
			s[name] = drawKeyword(t, name, depth, names)
		}
	}
	return s
}

// nests reports whether a keyword contains schemas.
func nests(keyword string) bool {
	return slices.Contains(strings.Fields("allOf anyOf oneOf not if then else properties patternProperties additionalProperties "+
		"propertyNames prefixItems items contains dependentSchemas unevaluatedProperties unevaluatedItems"), keyword)
}

func drawKeyword(t *rapid.T, name string, depth int, names []string) any {
	list := func(least int, draw func() any) []any {
		out := []any{}
		for range rapid.IntRange(least, 3).Draw(t, "length") {
			out = append(out, draw())
		}
		return out
	}
	schema := func() any { return drawSchema(t, depth-1, names) }
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
		return "#/$defs/b"
	case "properties", "dependentSchemas":
		return map[string]any{drawName(t): schema(), drawName(t): schema()}
	case "patternProperties":
		return map[string]any{"^" + drawName(t): schema()}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return json.Number(strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "size")))
	}
	return schema()
}
