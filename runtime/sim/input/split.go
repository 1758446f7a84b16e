package input

import (
	"bytes"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// chunk is a piece of a file that can be decoded by itself: a document, or one item of a list.
type chunk struct {
	file string
	line int // of the first byte of text, 1-based
	text []byte
	json bool
	helm bool // text that Helm writes around manifests
	// namespace is that of Helm's release, for objects without one.
	namespace string
	list      header // of the list that the item is from; zero for a document
	// whole is the document that an item was cut from, to be decoded if the item alone is not
	// valid YAML.
	whole *chunk

	// Set when an error first needs them. Only one goroutine uses a chunk at a time.
	tree  *yaml.Node
	tried bool
	last  int
}

// parsed returns the tree of the text, nil if it is not YAML.
func (c *chunk) parsed() *yaml.Node {
	if !c.tried {
		c.tree, _ = strictyaml.Parse(c.text)
		c.tried = true
	}
	return c.tree
}

// lineAt returns the line in the file of the n-th line of the text. YAML counts lone carriage
// returns as line ends, and editors do not, so it counts those in the text.
func (c *chunk) lineAt(n int) int {
	if c.last == 0 {
		c.last = c.line + bytes.Count(bytes.TrimSuffix(c.text, []byte("\n")), []byte("\n"))
	}
	return min(c.line+max(n, 1)-1, c.last)
}

// header is what a list says about its items.
type header struct{ apiVersion, kind string }

// splitFile splits a file into documents.
func splitFile(f source) []chunk {
	text := bytes.TrimPrefix(f.data, []byte("\uFEFF"))
	if isJSON(text) && !hasMarks(text) {
		return []chunk{{file: f.file, line: 1, text: text, json: true}}
	}
	return splitYAML(f.file, text)
}

// releaseNamespace returns the namespace that Helm's text before a release names; "" if it names none.
func releaseNamespace(text []byte) (namespace string) {
	for line := range bytes.Lines(text) {
		if name, ok := bytes.CutPrefix(line, []byte("NAMESPACE: ")); ok {
			namespace = string(bytes.TrimSpace(name))
		}
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 {
		return ""
	}
	return namespace
}

// hasMarks reports whether a line begins or ends a document. In JSON no line does, because
// strings cannot contain line ends.
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

// splitYAML splits at lines that begin with "---" or "...": in YAML these are document markers
// even inside block scalars. The marker line stays with the document, because it may have
// content. Lines of Helm that name a section are no part of any document.
func splitYAML(file string, text []byte) (out []chunk) {
	cur := chunk{file: file, line: 1}
	start, line := 0, 0
	manifests := false // in Helm's output, whether its manifests have begun
	namespace := ""    // of the release
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
			start, cur = pos, chunk{file: file, line: line, namespace: namespace}
		} else if isMark(text[pos:next], "...") {
			flush(pos)
			start, cur = next, chunk{file: file, line: line + 1, namespace: namespace}
		} else if section := helmSection(text[pos:next]); section != "" {
			cur.helm = cur.helm || section != helmNotes && !manifests
			flush(pos)
			if cur.helm {
				namespace = releaseNamespace(text[start:pos])
			}
			manifests = section != helmNotes
			start, cur = next, chunk{file: file, line: line + 1, helm: !manifests, namespace: namespace}
		}
		pos = next
	}
	flush(len(text))
	return out
}

// helmNotes begins the section of Helm's output that has no manifests.
const helmNotes = "NOTES:"

// helmSection returns the line that begins a section in the output of helm install --dry-run and helm get all; "" for other lines.
// What comes before the first section says what is installed.
func helmSection(line []byte) string {
	switch s := string(bytes.TrimRight(line, " \t\r\n")); s {
	case "HOOKS:", "MANIFEST:", helmNotes:
		return s
	}
	return ""
}

// lineEnd returns the position after the line that begins at pos.
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

// blank reports whether there are only markers, comments and directives.
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
