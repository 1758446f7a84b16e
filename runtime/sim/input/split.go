package input

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// chunk is a piece of a file that can be decoded by itself: a document, or one
// item of a list.
type chunk struct {
	file string
	line int // of the first byte of text, 1-based
	text []byte
	json bool
	list header // of the list that the chunk is an item of; zero for a document
	// whole is the document that an item was cut from, for a second try if the
	// item alone is not valid YAML.
	whole *chunk

	// What is found out about the text when an error first asks for it. A chunk
	// is used by one goroutine at a time.
	tree  *yaml.Node
	tried bool
	last  int
}

// parsed is the tree of the text, nil if it is not YAML.
func (c *chunk) parsed() *yaml.Node {
	if !c.tried {
		c.tree, _ = strictyaml.Parse(c.text)
		c.tried = true
	}
	return c.tree
}

// lineAt is the line in the file of the n-th line of the text. YAML counts lone
// carriage returns as line ends, which editors do not; so it is kept in the text.
func (c *chunk) lineAt(n int) int {
	if c.last == 0 {
		c.last = c.line + bytes.Count(bytes.TrimSuffix(c.text, []byte("\n")), []byte("\n"))
	}
	return min(c.line+max(n, 1)-1, c.last)
}

// header is what a list says of its items.
type header struct{ apiVersion, kind string }

// splitFile cuts a file into documents.
func splitFile(f source) []chunk {
	text := bytes.TrimPrefix(f.data, []byte("\uFEFF"))
	if isJSON(text) && !hasMarks(text) {
		return []chunk{{file: f.file, line: 1, text: text, json: true}}
	}
	return splitYAML(f.file, text)
}

// hasMarks says whether a line begins or ends a document. No line of a JSON value
// does, for JSON has no line ends within quotes.
func hasMarks(text []byte) bool {
	for pos := 0; pos < len(text); {
		next := lineEnd(text, pos)
		if line := text[pos:next]; isMark(line, "---") || isMark(line, "...") {
			return true
		}
		pos = next
	}
	return false
}

func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// splitYAML cuts at lines that begin with "---" or "...": YAML keeps those for
// document marks even inside block scalars. The marker line stays with a YAML
// document, for it may hold content.
func splitYAML(file string, text []byte) (out []chunk) {
	cur := chunk{file: file, line: 1}
	start, line := 0, 0
	flush := func(end int) {
		cur.text = text[start:end]
		if blank(cur.text) {
			return
		}
		first := lineEnd(cur.text, 0)
		if isMark(cur.text[:first], "---") && blank(cur.text[:first]) && isJSON(cur.text[first:]) {
			cur.text = cur.text[first:]
			cur.line++
		}
		cur.json = isJSON(cur.text)
		out = append(out, cur)
	}
	for pos := 0; pos < len(text); {
		line++
		next := lineEnd(text, pos)
		if isMark(text[pos:next], "---") {
			flush(pos)
			start, cur = pos, chunk{file: file, line: line}
		} else if isMark(text[pos:next], "...") {
			flush(pos)
			start, cur = next, chunk{file: file, line: line + 1}
		}
		pos = next
	}
	flush(len(text))
	return out
}

// lineEnd is the position after the line that begins at pos.
func lineEnd(text []byte, pos int) int {
	if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(text)
}

func isMark(line []byte, mark string) bool {
	if !bytes.HasPrefix(line, []byte(mark)) {
		return false
	}
	return len(line) == len(mark) || bytes.IndexByte([]byte(" \t\r\n"), line[len(mark)]) >= 0
}

// blank says whether there is nothing but marks, comments and directives.
func blank(text []byte) bool {
	for pos := 0; pos < len(text); {
		next := lineEnd(text, pos)
		line := text[pos:next]
		if isMark(line, "---") {
			line = line[3:]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
		pos = next
	}
	return true
}
