package strictyaml

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// Mistake is one of the mistakes that a YAML library found in a text.
type Mistake struct {
	Line   int // from 1; 0 if it is not known
	Detail string
	Fix    string // may be empty
	// Follows reports that the document is complete, and more text follows.
	Follows bool
}

// Explain takes the lines out of an error of Parse or Values about text. A YAML library's is
// either "yaml: line 3: did not find expected key", or a line for each mistake after a
// heading, of which the first are returned.
func Explain(text []byte, err error) []Mistake {
	var bad *NodeError
	if errors.As(err, &bad) {
		return []Mistake{{Line: bad.Node.Line, Detail: bad.Detail, Fix: bad.Fix}}
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	message = strings.TrimPrefix(message, "unmarshal errors:\n  ")
	var all []Mistake
	for one := range strings.SplitSeq(message, "\n  ") {
		m := Mistake{Detail: one}
		if after, ok := strings.CutPrefix(one, "line "); ok {
			if number, rest, ok := strings.Cut(after, ": "); ok {
				if n, err := strconv.Atoi(number); err == nil {
					m.Line, m.Detail = n, rest
				}
			}
		}
		if strings.HasPrefix(m.Detail, "did not find expected") { // the library names the line before, or where a block began
			if n := firstBroken(text); n > 0 {
				m.Line = n
			}
		}
		m.Follows = strings.Contains(m.Detail, "<document start>")
		if all = append(all, m); len(all) == maxMistakes {
			break
		}
	}
	return all
}

// The most lines and bytes of a text that firstBroken searches: it parses the text once
// per line.
const (
	maxProbe      = 400
	maxProbeBytes = 64 << 10
)

// firstBroken is the line, from 1, after the longest part of text that is YAML
// by itself; 0 if text is too long.
func firstBroken(text []byte) int {
	if len(text) > maxProbeBytes {
		return 0
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > maxProbe {
		return 0
	}
	end := len(text)
	for i := len(lines) - 1; i > 0; i-- {
		end -= len(lines[i])
		if _, err := Parse(text[:end]); err == nil {
			return i + 1
		}
	}
	return 1
}
