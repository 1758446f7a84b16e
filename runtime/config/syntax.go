package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// onlyDocument parses YAML and gives the root of its document, nil if there is
// nothing in it. Only empty documents may follow, as a "---" at the end starts one.
func onlyDocument(file string, data []byte) (*yaml.Node, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root *yaml.Node
	for first := true; ; first = false {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, syntaxErrors(file, data, err)[0]
		case doc.Content[0].Tag == "!!null":
		case !first:
			return nil, &Error{File: file, Line: doc.Line, Detail: "a second YAML document begins here", Fix: "keep one document in the file"}
		default:
			root = doc.Content[0]
		}
	}
}

// plainSlashes writes \/ in JSON as /: an escape that the YAML libraries do not
// know and some programs write. (Nor do they know surrogate pairs, as in
// \ud83d\ude00; no field here needs one.) Other text stays as it is.
func plainSlashes(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\/`)) || !json.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] == '\\' { // JSON has them in strings only, and never last
			i++
			if data[i] != '/' {
				out = append(out, '\\')
			}
		}
		out = append(out, data[i])
	}
	return out
}

// syntaxErrors takes the lines out of an error of a YAML library about text:
// either "yaml: line 3: did not find expected key", or a line for each mistake
// after a heading.
func syntaxErrors(file string, text []byte, err error) []*Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	message = strings.TrimPrefix(message, "unmarshal errors:\n  ")
	var errs []*Error
	for m := range strings.SplitSeq(message, "\n  ") {
		errs = append(errs, syntaxError(file, text, m))
	}
	return errs
}

func syntaxError(file string, text []byte, message string) *Error {
	e := &Error{File: file}
	if after, ok := strings.CutPrefix(message, "line "); ok {
		if number, rest, ok := strings.Cut(after, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				e.Line, message = n, rest
			}
		}
	}
	if key, ok := strings.CutSuffix(message, " already set in map"); ok { // not a duplicate key: those were found before
		e.Detail, e.Fix = key+" is set by a merge (<<) too", "write the mapping out; kube-scheduler refuses this too"
		return e
	}
	if strings.HasPrefix(message, "did not find expected") { // the library names the line before, or where a block began
		if n := firstBroken(text); n > 0 {
			e.Line = n
		}
	}
	if strings.Contains(message, "<document start>") {
		e.Detail, e.Fix = "text follows the end of the document", "keep one document in the file"
		return e
	}
	e.Detail = "not valid YAML: " + message
	if e.Line > 0 {
		e.Fix = "check indentation, tabs, brackets, colons and quotes near this line"
	}
	return e
}

// maxProbe is the number of lines up to which firstBroken looks: it parses the
// text once per line.
const maxProbe = 400

// firstBroken is the line, from 1, after the longest part of text that is YAML
// by itself; 0 if text is too long to look.
func firstBroken(text []byte) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > maxProbe {
		return 0
	}
	end := len(text)
	for i := len(lines) - 1; i > 0; i-- {
		end -= len(lines[i])
		if parses(text[:end]) {
			return i + 1
		}
	}
	return 1
}

func parses(text []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
