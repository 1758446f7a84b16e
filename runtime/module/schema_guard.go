package module

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// maxSteps bounds how many schemas apply to one value.
const maxSteps = 10_000

// guard walks a schema before it is compiled.
type guard struct {
	nodes   map[string]map[string]any // schemas by JSON pointer
	refs    map[string]string         // pointer of a schema → that of its $ref
	inPlace map[string][]string       // schemas that apply to the same value
	remarks []string
	kinds   map[string]string // of keywords
}

// guardSchema refuses what this host does not support (identifiers, anchors,
// references to other documents), what would never end (references that lead
// back to the same value) or take too long.
func guardSchema(root map[string]any) (*guard, error) {
	g := &guard{nodes: map[string]map[string]any{}, refs: map[string]string{}, inPlace: map[string][]string{}, kinds: keywords()}
	if err := g.walk("", root); err != nil {
		return nil, err
	}
	for _, from := range keys(g.refs) {
		to := g.refs[from]
		if _, ok := g.nodes[to]; !ok {
			if _, plain := g.inPlace[to]; !plain { // true and false are schemas too
				return nil, &problem{path: fieldPath(from) + "$ref", detail: "nothing is at " + strconv.Quote("#"+to)}
			}
		}
		g.inPlace[from] = append(g.inPlace[from], to)
	}
	steps := map[string]int{}
	for _, pointer := range keys(g.nodes) {
		if _, err := g.count(pointer, steps); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// count returns how many schemas apply to a value that the schema at pointer is
// applied to.
func (g *guard) count(pointer string, steps map[string]int) (int, error) {
	const running = -1
	switch n, known := steps[pointer]; {
	case n == running:
		return 0, &problem{path: strings.TrimSuffix(fieldPath(pointer), "."), detail: "the schema refers to itself for the same value", fix: "refer to it from properties or items"}
	case known:
		return n, nil
	}
	steps[pointer] = running
	total := 1
	for _, next := range g.inPlace[pointer] {
		n, err := g.count(next, steps)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxSteps {
			return 0, &problem{path: strings.TrimSuffix(fieldPath(pointer), "."), detail: fmt.Sprintf("more than %d schemas apply to one value", maxSteps), fix: "simplify the schema"}
		}
	}
	steps[pointer] = total
	return total, nil
}

func (g *guard) walk(pointer string, value any) error {
	s, ok := value.(map[string]any)
	if !ok {
		g.inPlace[pointer] = nil // true, false, or something that does not compile
		return nil
	}
	g.nodes[pointer] = s
	for _, key := range keys(s) {
		at := fieldPath(pointer) + key
		switch key {
		case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary", "$schema":
			return &problem{path: at, detail: "it is not supported here", fix: "refer to $defs with $ref"}
		case "pattern":
			if err := compiles(s[key]); err != nil {
				return &problem{path: at, detail: err.Error(), fix: "write a regular expression as in RE2"}
			}
		case "patternProperties":
			m, _ := s[key].(map[string]any)
			for _, pattern := range keys(m) {
				if err := compiles(pattern); err != nil {
					return &problem{path: at, detail: err.Error(), fix: "write a regular expression as in RE2"}
				}
			}
		case "$ref":
			to, err := localPointer(s[key])
			if err != nil {
				return &problem{path: at, detail: err.Error(), fix: `write "#/$defs/…"`}
			}
			g.refs[pointer] = to
		}
		if err := g.walkKey(pointer, key, s[key]); err != nil {
			return err
		}
	}
	return nil
}

func compiles(pattern any) error {
	text, _ := pattern.(string)
	_, err := regexp.Compile(text)
	return err
}

// walkKey goes into the schemas that a keyword holds.
func (g *guard) walkKey(pointer, key string, value any) error {
	children := map[string]any{}
	switch g.kinds[key] {
	case "":
		if !strings.HasPrefix(key, "x-") && key != "$ref" {
			remark := "manifest: config: " + fieldPath(pointer) + key + ": the keyword is unknown and does nothing"
			if near := didYouMean(key, keys(g.kinds)); near != "" {
				remark += "; " + near
			}
			g.remarks = append(g.remarks, remark)
		}
		return nil
	case "one", "one in place":
		children[pointerTo(pointer, key)] = value
	case "list", "list in place":
		list, _ := value.([]any)
		for i, item := range list {
			children[pointerTo(pointerTo(pointer, key), strconv.Itoa(i))] = item
		}
	case "map", "map in place":
		m, _ := value.(map[string]any)
		for name, item := range m {
			children[pointerTo(pointerTo(pointer, key), name)] = item
		}
	}
	for _, child := range keys(children) {
		if strings.HasSuffix(g.kinds[key], "in place") {
			g.inPlace[pointer] = append(g.inPlace[pointer], child)
		}
		if err := g.walk(child, children[child]); err != nil {
			return err
		}
	}
	return nil
}

// keywords are those of JSON Schema 2020-12: how they hold schemas, and whether
// these apply to the same value, or "plain".
func keywords() map[string]string {
	out := map[string]string{}
	add := func(kind, names string) {
		for name := range strings.FieldsSeq(names) {
			out[name] = kind
		}
	}
	add("one", "items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties contentSchema")
	add("one in place", "not if then else")
	add("list", "prefixItems")
	add("list in place", "allOf anyOf oneOf")
	add("map", "$defs properties patternProperties")
	add("map in place", "dependentSchemas")
	add("plain", `$ref $comment title description default deprecated readOnly writeOnly examples type enum const multipleOf
		minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems minContains
		maxContains minProperties maxProperties required dependentRequired contentEncoding contentMediaType format`)
	return out
}

// localPointer is the JSON pointer of a reference into the same document.
func localPointer(ref any) (string, error) {
	text, _ := ref.(string)
	fragment, ok := strings.CutPrefix(text, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", fmt.Errorf("%s is no reference into this schema", show(ref))
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return "", err
	}
	return pointer, nil
}

// fieldPath writes a JSON pointer as the front of a field path, with a dot at its end.
func fieldPath(pointer string) string {
	path := ""
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if step != "" {
			path = join(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
	}
	if path == "" {
		return ""
	}
	return path + "."
}

// at returns the schema at a JSON pointer.
func at(root any, pointer string) any {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := root.(type) {
		case map[string]any:
			root = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			root = v[i]
		default:
			return nil
		}
	}
	return root
}
