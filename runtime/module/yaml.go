package module

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// maxExpanded bounds the size of a YAML document with its aliases expanded, in bytes of its
// texts.
const maxExpanded = 4 << 20

// toJSON converts one YAML document to JSON. An empty document and null become {}. JSON is YAML
// too and is returned unchanged.
func toJSON(data []byte) ([]byte, error) {
	if json.Valid(data) && !bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return data, nil
	}
	if separators(data) > schema.MaxValues {
		return nil, &schema.Problem{Detail: fmt.Sprintf("more than %d values", schema.MaxValues), Fix: "make it smaller, or write it as JSON"}
	}
	root, err := strictyaml.Parse(data)
	var second *strictyaml.SecondDocument
	var bad *strictyaml.NodeError
	switch {
	case errors.As(err, &second):
		return nil, &schema.Problem{Detail: fmt.Sprintf("a second document begins on line %d", second.Line), Fix: "keep one"}
	case errors.As(err, &bad):
		return nil, &schema.Problem{Detail: fmt.Sprintf("line %d: %s", bad.Node.Line, bad.Detail), Fix: bad.Fix}
	case err != nil:
		return nil, notYAML(err)
	case root == nil:
		return []byte("{}"), nil
	case !strictyaml.Fits(root, maxExpanded):
		return nil, &schema.Problem{Detail: fmt.Sprintf("its aliases stand for more than %d bytes, or for themselves", maxExpanded), Fix: "write them out"}
	}
	if bad := forbidden(root); bad != nil {
		return nil, bad
	}
	twice, _ := strictyaml.Duplicates(root) // Values refuses the others
	for _, d := range twice {
		if d.Key.Tag != "!!merge" {
			return nil, &schema.Problem{Detail: fmt.Sprintf("line %d: the field %s appears twice", d.Key.Line, schema.Show(d.Key.Value)), Fix: "keep one"}
		}
	}
	out, err := strictyaml.Values(data, false)
	if err != nil {
		return nil, notYAML(err)
	}
	if string(out) == "null" {
		return []byte("{}"), nil
	}
	return out, nil
}

func notYAML(err error) *schema.Problem {
	text := strings.Join(strings.Fields(plain.Cut(strings.TrimPrefix(err.Error(), "yaml: "), 4*schema.MaxProblem)), " ")
	return &schema.Problem{Detail: plain.Cut("neither YAML nor JSON: "+strings.TrimPrefix(text, "unmarshal errors: "), schema.MaxProblem)}
}

// forbidden finds ambiguous words in a document: an unquoted y or no is a boolean in YAML 1.1
// and a string in YAML 1.2.
func forbidden(n *yaml.Node) *schema.Problem {
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		switch strings.ToLower(n.Value) {
		case "y", "n", "yes", "no", "on", "off":
			return &schema.Problem{Detail: fmt.Sprintf("line %d: %s is a string to some YAML readers and a boolean to others", n.Line, n.Value),
				Fix: "write it in quotes, or write true or false"}
		}
	}
	for _, part := range n.Content {
		if bad := forbidden(part); bad != nil {
			return bad
		}
	}
	return nil
}

// separators counts the places after which a value can begin. Reading YAML takes some hundred
// bytes of memory for each.
func separators(data []byte) (n int) {
	for i, c := range data {
		switch c {
		case '\n', '\r', ',', '[', '{', ':':
			n++
		case '-', '?':
			if i+1 == len(data) || !strings.ContainsRune("-._/+", rune(data[i+1])) && !unicode.IsLetter(rune(data[i+1])) && !unicode.IsDigit(rune(data[i+1])) {
				n++
			}
		}
	}
	return n
}
