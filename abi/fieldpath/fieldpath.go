// Package fieldpath reads values out of objects of any kind by paths such as .status.zones[*].name.
//
// A path begins with a dot or a bracket and has these steps, and no others:
//
//   - .field and ["key"] go into an object;
//   - [field=value] goes to the first element of a list whose field is the value; a value with brackets or quotes is a JSON string;
//   - [*] goes to each element of a list, and to each value of an object in the order of its keys.
//
// The path . is the object itself. Reading takes time in proportion to the object, whatever the path.
package fieldpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a path.
const (
	MaxSize  = 512 // bytes
	MaxSteps = 32
)

// Kind is what a step does.
type Kind uint8

// The kinds of steps.
const (
	Field Kind = iota // into the object, by Name
	Find              // to the first element whose field Name is Value
	All               // to all elements, or values
)

// Step is one step of a path.
type Step struct {
	Kind        Kind
	Name, Value string
}

// Path is a way into objects. The zero Path is the object itself.
type Path struct {
	text  string
	steps []Step
}

// Parse reads a path.
//
// # Errors
//
// The path is too long, or there is no step at a byte: the error says which, and what to write.
func Parse(text string) (Path, error) {
	if len(text) > MaxSize {
		return Path{}, fmt.Errorf("the path has %d bytes, at most %d are allowed", len(text), MaxSize)
	}
	p := Path{text: text}
	if text == "." {
		return p, nil
	}
	if text == "" || text[0] != '.' && text[0] != '[' {
		return Path{}, fmt.Errorf("%.64q is no path: begin it with a dot, as .status.capacity", text)
	}
	for rest := text; rest != ""; {
		step, size, err := parseStep(rest)
		if err != nil {
			return Path{}, fmt.Errorf("%.64q: at byte %d: %w", text, len(text)-len(rest)+1, err)
		}
		p.steps, rest = append(p.steps, step), rest[size:]
		if len(p.steps) > MaxSteps {
			return Path{}, fmt.Errorf("%.64q has more than %d steps", text, MaxSteps)
		}
	}
	return p, nil
}

// parseStep reads the first step of a text, and says how many bytes it has.
func parseStep(text string) (Step, int, error) {
	if text[0] == '.' {
		name := text[1 : 1+word(text[1:])]
		if name == "" {
			return Step{}, 0, errors.New(`a dot needs a name of letters, digits, _ and -: write ["key"] for other keys`)
		}
		return Step{Kind: Field, Name: name}, 1 + len(name), nil
	}
	if text[0] != '[' {
		return Step{}, 0, fmt.Errorf("found %.1q: write .name, [\"key\"], [field=value] or [*]", text)
	}
	inside := text[1:]
	step, size := Step{Kind: All}, 1
	switch {
	case strings.HasPrefix(inside, "*"):
	case strings.HasPrefix(inside, `"`):
		key, n, err := quoted(inside)
		if err != nil {
			return Step{}, 0, err
		}
		step, size = Step{Kind: Field, Name: key}, n
	default:
		n := word(inside)
		if n == 0 || !strings.HasPrefix(inside[n:], "=") {
			return Step{}, 0, errors.New(`a bracket has "key" in quotes, field=value, or *; elements have no numbers here`)
		}
		step = Step{Kind: Find, Name: inside[:n]}
		size = n + 1
		if value := inside[size:]; strings.HasPrefix(value, `"`) {
			text, n, err := quoted(value)
			if err != nil {
				return Step{}, 0, err
			}
			step.Value, size = text, size+n
		} else {
			n := max(0, strings.IndexAny(value, `]["`))
			step.Value, size = value[:n], size+n
			if n == 0 {
				return Step{}, 0, errors.New(`the value is missing: write [field=value], or [field=""] for an empty one`)
			}
		}
	}
	if !strings.HasPrefix(inside[size:], "]") {
		return Step{}, 0, errors.New("the bracket has no end: write ]")
	}
	return step, size + 2, nil
}

// quoted reads a JSON string at the beginning of a text, and says how many bytes it has.
func quoted(text string) (string, int, error) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			var out string
			if err := json.Unmarshal([]byte(text[:i+1]), &out); err != nil {
				return "", 0, fmt.Errorf("%.64s is no string of JSON", text[:i+1])
			}
			return out, i + 1, nil
		}
	}
	return "", 0, errors.New("the quote has no end")
}

// word returns the length of the name that a text begins with.
func word(text string) int {
	return len(text) - len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"))
}

// String returns the path as it was written.
func (p Path) String() string {
	if p.text == "" {
		return "."
	}
	return p.text
}

// Steps returns the steps; the caller must not change them.
func (p Path) Steps() []Step { return p.steps }

// Many reports whether the path can lead to several values.
func (p Path) Many() bool {
	return slices.ContainsFunc(p.steps, func(s Step) bool { return s.Kind == All })
}

// Lists splits the path after each [*]: the paths of lists, each from an element of the one before, and the rest of the path, from an
// element of the last.
func (p Path) Lists() (lists []Path, rest Path) {
	from := 0
	for i, s := range p.steps {
		if s.Kind == All {
			lists, from = append(lists, Path{p.text, p.steps[from : i+1]}), i+1
		}
	}
	return lists, Path{p.text, p.steps[from:]}
}

// Value returns the first value at the path in an object as encoding/json decodes it, and whether there is one. A null is none.
func (p Path) Value(object any) (value any, ok bool) {
	p.Each(object, func(_ string, v any) bool {
		value, ok = v, true
		return false
	})
	return value, ok
}

// Each calls visit for each value at the path, until it returns false. key is where the last [*] went: the key in an object, or the
// number in a list, from 0; empty without one. Values that are null, and fields of what is no object, are left out.
func (p Path) Each(object any, visit func(key string, value any) bool) {
	walk(p.steps, object, "", visit)
}

func walk(steps []Step, at any, key string, visit func(string, any) bool) bool {
	for i, s := range steps {
		switch s.Kind {
		case Field:
			object, _ := at.(map[string]any)
			at = object[s.Name]
		case Find:
			list, _ := at.([]any)
			n := slices.IndexFunc(list, func(e any) bool {
				object, _ := e.(map[string]any)
				return is(object[s.Name], s.Value)
			})
			if n < 0 {
				return true
			}
			at = list[n]
		case All:
			return each(at, func(key string, value any) bool { return walk(steps[i+1:], value, key, visit) })
		}
	}
	return at == nil || visit(key, at)
}

func each(at any, visit func(key string, value any) bool) bool {
	switch at := at.(type) {
	case []any:
		for i, value := range at {
			if !visit(strconv.Itoa(i), value) {
				return false
			}
		}
	case map[string]any:
		keys := make([]string, 0, len(at))
		for key := range at {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if !visit(key, at[key]) {
				return false
			}
		}
	}
	return true
}

// is reports whether a value is a text, or a number or boolean that is written so.
func is(value any, text string) bool {
	switch value := value.(type) {
	case string:
		return value == text
	case bool, int64, float64, json.Number:
		return fmt.Sprint(value) == text
	}
	return false
}
