package schema

import (
	"slices"
	"strconv"
	"strings"
)

// explainType says that a value's type is not allowed.
func explainType(types []string, value any) string {
	names := map[string]string{
		"null": "null", "boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "a text",
		"array": "a list", "object": "an object",
	}
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = names[t]
	}
	return "expected " + strings.Join(texts, " or ") + ", found " + Show(value)
}

// explainEnum says that a value is not among the allowed ones.
func explainEnum(list []any, value any) (detail, fix string) {
	detail = Show(value) + " is not allowed"
	if slices.ContainsFunc(list, isContainer) && isContainer(value) {
		detail = "this " + strings.TrimPrefix(strings.TrimPrefix(Show(value), "an "), "a ") + " is not allowed"
	}
	switch len(list) {
	case 0:
		return detail, "remove it: the schema allows nothing here"
	case 1:
		return detail, "write " + Show(list[0])
	}
	var texts []string
	length := 0
	for _, e := range list {
		texts = append(texts, Show(e))
		if length += len(texts[len(texts)-1]); length > MaxProblem {
			break // the rest would be cut
		}
	}
	return detail, "write one of " + strings.Join(texts, ", ")
}

func isContainer(value any) bool {
	switch value.(type) {
	case *object, []any:
		return true
	}
	return false
}

func explainSize(s size, n int, noun string) string {
	text := strconv.Itoa(n) + " " + noun
	if n != 1 {
		text += "s"
	}
	if n < s.least {
		return text + ", expected at least " + strconv.Itoa(s.least)
	}
	return text + ", expected at most " + strconv.Itoa(s.most)
}
