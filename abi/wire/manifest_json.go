package wire

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is how deeply a manifest may nest, including its schema.
const maxJSONDepth = 64

// jsonKind is the kind of a JSON value.
type jsonKind byte

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// jsonNode is a JSON value. The package has its own reader because it must report duplicate
// fields and paths, and because encoding/json would add 440 KB to every Go guest that imports
// this package.
type jsonNode struct {
	kind  jsonKind
	text  string // of a string, unescaped; of other scalars, as written
	names []string
	items []*jsonNode // of an array, or the values of names
}

// textOf returns a field of an object; empty if there is no such string.
func (n *jsonNode) textOf(field string) string {
	if i := slices.Index(n.names, field); i >= 0 && n.items[i].kind == jsonString {
		return n.items[i].text
	}
	return ""
}

// jsonReader reads one JSON text (RFC 8259).
type jsonReader struct {
	data string
	pos  int
	path []jsonStep // to the current value; joined only for a mistake
	most int        // how deeply values may nest
	errs *manifestErrors
}

// jsonStep is a field, or an element of an array.
type jsonStep struct {
	name  string
	index int
	list  bool
}

// readJSON reads a JSON text whose values nest at most so deep; it returns nil after an error.
func readJSON(data []byte, depth int, errs *manifestErrors) *jsonNode {
	r := &jsonReader{data: string(data), most: depth, errs: errs}
	if !utf8.Valid(data) {
		errs.add("", "it is not UTF-8", "", "ABI-9.1")
		return nil
	}
	if strings.HasPrefix(r.data, "\ufeff") {
		return r.fail("the text begins with a byte order mark; save it as UTF-8 without one")
	}
	n := r.value()
	if n == nil {
		return nil
	}
	if r.space(); r.pos < len(r.data) {
		return r.fail("text after the end of the object")
	}
	return n
}

// fail records a mistake at the current place.
func (r *jsonReader) fail(detail string) *jsonNode {
	path := ""
	for _, step := range r.path {
		if step.list {
			path = index(path, step.index)
		} else {
			path = join(path, step.name)
		}
	}
	at := min(r.pos, len(r.data))
	before := r.data[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	r.errs.add(path, "line "+strconv.Itoa(line)+", column "+strconv.Itoa(column)+": "+detail, "", "")
	return nil
}

func (r *jsonReader) space() {
	for r.pos < len(r.data) && strings.IndexByte(" \t\r\n", r.data[r.pos]) >= 0 {
		r.pos++
	}
}

// accept skips white space and c, if c is next.
func (r *jsonReader) accept(c byte) bool {
	r.space()
	if r.pos < len(r.data) && r.data[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

func (r *jsonReader) value() *jsonNode {
	r.space()
	if len(r.path) > r.most {
		return r.fail("nested deeper than " + strconv.Itoa(r.most) + " levels")
	}
	rest := r.data[r.pos:]
	switch {
	case rest == "":
		return r.fail("the text ends too early")
	case rest[0] == '{':
		return r.object()
	case rest[0] == '[':
		return r.array()
	case rest[0] == '"':
		s, ok := r.str()
		if !ok {
			return nil
		}
		return &jsonNode{kind: jsonString, text: s}
	}
	for word, kind := range map[string]jsonKind{"null": jsonNull, "true": jsonBool, "false": jsonBool} {
		if strings.HasPrefix(rest, word) {
			r.pos += len(word)
			return &jsonNode{kind: kind, text: word}
		}
	}
	n := numberLength(rest)
	if n == 0 {
		if len(r.path) > 0 && r.path[len(r.path)-1].index > 0 && rest[0] == ']' {
			return r.fail("this is not a JSON value; remove the comma before the ]")
		}
		return r.fail("this is not a JSON value" + r.comment())
	}
	r.pos += n
	return &jsonNode{kind: jsonNumber, text: rest[:n]}
}

// comment says that a comment is none, if there is one at the current place.
func (r *jsonReader) comment() string {
	for _, begin := range []string{"//", "/*", "#"} {
		if strings.HasPrefix(r.data[r.pos:], begin) {
			return "; JSON has no comments"
		}
	}
	return ""
}

func (r *jsonReader) object() *jsonNode {
	r.pos++
	n := &jsonNode{kind: jsonObject}
	seen := map[string]bool{}
	if r.accept('}') {
		return n
	}
	for {
		switch r.space(); {
		case strings.HasPrefix(r.data[r.pos:], `"`):
		case len(n.names) > 0 && strings.HasPrefix(r.data[r.pos:], "}"):
			return r.fail("expected a field's name in double quotes; remove the comma before the }")
		default:
			return r.fail("expected a field's name in double quotes" + r.comment())
		}
		name, ok := r.str()
		if !ok {
			return nil
		}
		r.path = append(r.path, jsonStep{name: name})
		if seen[name] {
			return r.fail("the field appears twice")
		}
		seen[name] = true
		if !r.accept(':') {
			return r.fail("expected a colon")
		}
		v := r.value()
		if v == nil {
			return nil
		}
		r.path = r.path[:len(r.path)-1]
		n.names, n.items = append(n.names, name), append(n.items, v)
		if r.accept('}') {
			return n
		}
		if !r.accept(',') {
			return r.fail("expected a comma or }")
		}
	}
}

func (r *jsonReader) array() *jsonNode {
	r.pos++
	n := &jsonNode{kind: jsonArray}
	if r.accept(']') {
		return n
	}
	for {
		r.path = append(r.path, jsonStep{index: len(n.items), list: true})
		v := r.value()
		if v == nil {
			return nil
		}
		r.path = r.path[:len(r.path)-1]
		n.items = append(n.items, v)
		if r.accept(']') {
			return n
		}
		if !r.accept(',') {
			return r.fail("expected a comma or ]")
		}
	}
}
