package module

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// explain tells in plain words what the keywords of one schema object say against
// a value, leaving out the parts of the value and schemas inside the schema. Paths
// are relative: empty, or that of a field. What it does not know, the library
// tells.
func explain(s map[string]any, value any) []problem {
	if p := explainType(s["type"], value); p != nil {
		return []problem{*p}
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { return sameValue(e, value) }) {
		texts := make([]string, len(list))
		for i, e := range list {
			texts[i] = show(e)
		}
		return []problem{{detail: show(value) + " is not allowed", fix: "write one of " + strings.Join(texts, ", ")}}
	}
	if want, has := s["const"]; has && !sameValue(want, value) {
		return []problem{{detail: show(value) + " is not allowed", fix: "write " + show(want)}}
	}
	switch v := value.(type) {
	case string:
		return explainText(s, v)
	case map[string]any:
		return explainObject(s, v)
	case []any:
		return explainSize(s, len(v), "minItems", "maxItems", "element")
	}
	if n, ok := number(value); ok {
		return explainNumber(s, n, value)
	}
	return nil
}

func explainType(want any, value any) *problem {
	var types []string
	switch w := want.(type) {
	case string:
		types = []string{w}
	case []any:
		for _, t := range w {
			types = append(types, fmt.Sprint(t))
		}
	default:
		return nil
	}
	is := typeOf(value)
	if slices.Contains(types, is) || is == "integer" && slices.Contains(types, "number") {
		return nil
	}
	names := map[string]string{
		"null": "null", "boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "a text",
		"array": "a list", "object": "an object",
	}
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = names[t]
	}
	return &problem{detail: "expected " + strings.Join(texts, " or ") + ", found " + show(value)}
}

// typeOf is JSON Schema's name of a value's type.
func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v != math.Trunc(v) {
			return "number"
		}
	}
	return "integer"
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// sameValue compares a scalar of a schema with one of a value. Of lists and
// objects it says yes: the library compares them.
func sameValue(a, b any) bool {
	if isContainer(a) || isContainer(b) {
		return isContainer(a) && isContainer(b)
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	if ok1 || ok2 {
		return ok1 && ok2 && x == y
	}
	return a == b
}

func explainText(s map[string]any, v string) []problem {
	out := explainSize(s, utf8.RuneCountInString(v), "minLength", "maxLength", "character")
	if pattern, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(v) {
			out = append(out, problem{detail: show(v) + " does not match the pattern " + strconv.Quote(pattern)})
		}
	}
	return out
}

func explainSize(s map[string]any, n int, low, high, noun string) []problem {
	count := func(n any) string {
		if fmt.Sprint(n) == "1" {
			return "1 " + noun
		}
		return fmt.Sprint(n) + " " + noun + "s"
	}
	if least, ok := number(s[low]); ok && float64(n) < least {
		return []problem{{detail: count(n) + ", expected at least " + fmt.Sprint(s[low])}}
	}
	if most, ok := number(s[high]); ok && float64(n) > most {
		return []problem{{detail: count(n) + ", expected at most " + fmt.Sprint(s[high])}}
	}
	return nil
}

func explainNumber(s map[string]any, n float64, value any) []problem {
	bounds := []struct {
		key, text string
		wrong     func(bound float64) bool
	}{
		{"minimum", "at least", func(b float64) bool { return n < b }},
		{"maximum", "at most", func(b float64) bool { return n > b }},
		{"exclusiveMinimum", "more than", func(b float64) bool { return n <= b }},
		{"exclusiveMaximum", "less than", func(b float64) bool { return n >= b }},
	}
	for _, b := range bounds {
		if bound, ok := number(s[b.key]); ok && b.wrong(bound) {
			return []problem{{detail: fmt.Sprintf("%v is not allowed", value), fix: fmt.Sprintf("write a number of %s %v", b.text, s[b.key])}}
		}
	}
	return nil
}

func explainObject(s map[string]any, v map[string]any) []problem {
	var out []problem
	required, _ := s["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok {
			if _, has := v[name]; !has {
				out = append(out, problem{detail: "the field " + strconv.Quote(name) + " is missing"})
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	if s["additionalProperties"] == false {
		patterns, _ := s["patternProperties"].(map[string]any)
		for _, name := range keys(v) {
			_, known := properties[name]
			matches := slices.ContainsFunc(keys(patterns), func(p string) bool {
				re, err := regexp.Compile(p)
				return err == nil && re.MatchString(name)
			})
			if !known && !matches {
				out = append(out, problem{path: relative(name), detail: "unknown field", fix: didYouMean(name, keys(properties))})
			}
		}
	}
	return append(out, explainSize(s, len(v), "minProperties", "maxProperties", "field")...)
}

// relative is the path of a field as it follows that of its object.
func relative(name string) string {
	if at := join("", name); at[0] == '[' {
		return at
	}
	return "." + name
}
