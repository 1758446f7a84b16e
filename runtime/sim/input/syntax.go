package input

import (
	"errors"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// syntaxError is the error of text that is not YAML.
func syntaxError(c *chunk, err error) *Error {
	var second *strictyaml.SecondDocument
	if errors.As(err, &second) {
		return &Error{File: c.file, Line: c.lineAt(second.Line), Detail: "a second document begins here", Fix: "write a line of --- before it"}
	}
	m := strictyaml.Explain(c.text, err)[0]
	line := c.line
	if m.Line > 0 {
		line = c.lineAt(m.Line)
	}
	if m.Fix != "" {
		return &Error{File: c.file, Line: line, Detail: m.Detail, Fix: m.Fix}
	}
	if m.Follows {
		return &Error{File: c.file, Line: line, Detail: "something follows the document", Fix: "write a line of --- before it if it is another one"}
	}
	return &Error{File: c.file, Line: line, Detail: "this is not valid YAML: " + m.Detail, Fix: "check indentation, colons and quotes near this line"}
}
