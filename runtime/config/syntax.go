package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// plainSlashes writes \/ in JSON as /. Some programs write this escape, but the YAML libraries
// do not support it. (They do not support surrogate pairs such as \ud83d\ude00 either; no field
// here needs one.) All other text is unchanged.
func plainSlashes(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\/`)) || !json.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] == '\\' { // JSON has backslashes only in strings, and never at the end
			i++
			if data[i] != '/' {
				out = append(out, '\\')
			}
		}
		out = append(out, data[i])
	}
	return out
}

// syntaxErrors converts the mistakes that a YAML library found in a text.
func syntaxErrors(file string, text []byte, err error) []*Error {
	var second *strictyaml.SecondDocument
	if errors.As(err, &second) {
		return []*Error{{File: file, Line: second.Line, Detail: "a second YAML document begins here", Fix: "keep one document in the file"}}
	}
	var errs []*Error
	for _, m := range strictyaml.Explain(text, err) {
		e := &Error{File: file, Line: m.Line}
		key, merged := strings.CutSuffix(m.Detail, " already set in map") // not a duplicate key: those were reported before
		switch {
		case m.Fix != "":
			e.Detail, e.Fix = m.Detail, m.Fix
		case merged:
			e.Detail, e.Fix = key+" is set by a merge (<<) too", "write the mapping out; kube-scheduler refuses this too"
		case m.Follows:
			e.Detail, e.Fix = "text follows the end of the document", "keep one document in the file"
		default:
			e.Detail = "not valid YAML: " + m.Detail
			if e.Line > 0 {
				e.Fix = "check indentation, tabs, brackets, colons and quotes near this line"
			}
		}
		errs = append(errs, e)
	}
	return errs
}
