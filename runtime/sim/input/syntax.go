package input

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML parses text that must hold one document, or none: the library's
// Unmarshal would leave out what follows the first.
func parseYAML(text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	if err := d.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, errors.New("a second document follows without --- on a line before it")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return &root, nil
}

// yamlLine is how yaml.v3 begins its messages.
var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntaxError is the error of text that is no YAML.
func syntaxError(c *chunk, err error) *Error {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	line := c.line
	if m := yamlLine.FindStringSubmatchIndex(s); m != nil {
		if n, e := strconv.Atoi(s[m[2]:m[3]]); e == nil {
			line = c.lineAt(n)
		}
		s = s[:m[0]] + s[m[1]:]
	}
	if strings.HasPrefix(s, "did not find expected") {
		// the library names the line before the block that is not finished
		if n := firstBroken(c.text); n > 0 {
			line = c.lineAt(n)
		}
	}
	if strings.Contains(s, "<document start>") {
		return &Error{File: c.file, Line: line, Detail: "something follows the document", Fix: "write a line of --- before it if it is another one"}
	}
	return &Error{File: c.file, Line: line, Detail: "this is not valid YAML: " + s, Fix: "check indentation, colons and quotes near this line"}
}

// maxProbe is the number of lines up to which firstBroken looks: it parses the
// text once per line.
const maxProbe = 400

// firstBroken is the line, from 1, after the longest part of a short text that
// is YAML by itself; 0 if there is none.
func firstBroken(text []byte) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > maxProbe {
		return 0
	}
	end := len(text)
	for i := len(lines) - 1; i > 0; i-- {
		end -= len(lines[i])
		if _, err := parseYAML(text[:end]); err == nil {
			return i + 1
		}
	}
	return 0
}
