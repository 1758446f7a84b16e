package module

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/aliases"
)

// maxExpanded bounds what aliases make of a YAML document, in bytes of its texts.
const maxExpanded = 4 << 20

// toJSON turns one YAML document, which JSON is too, into JSON. Nothing is {}. JSON
// stays as it is.
func toJSON(data []byte) ([]byte, error) {
	if json.Valid(data) && !bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return data, nil
	}
	if separators(data) > maxValues {
		return nil, &problem{detail: fmt.Sprintf("more than %d values", maxValues), fix: "make it smaller, or write it as JSON"}
	}
	docs := yaml.NewDecoder(bytes.NewReader(data))
	for n := 0; ; n++ {
		var doc yaml.Node
		err := docs.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, notYAML(err)
		}
		if n > 0 {
			return nil, &problem{detail: fmt.Sprintf("a second document begins on line %d", doc.Line), fix: "keep one"}
		}
		if !aliases.Fit(&doc, parts, maxExpanded) {
			return nil, &problem{detail: fmt.Sprintf("its aliases stand for more than %d bytes, or for themselves", maxExpanded), fix: "write them out"}
		}
		if bad := forbidden(&doc); bad != nil {
			return nil, bad
		}
	}
	out, err := sigsyaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, notYAML(err)
	}
	if string(out) == "null" {
		return []byte("{}"), nil
	}
	return out, nil
}

func notYAML(err error) *problem {
	text := strings.Join(strings.Fields(plain.Cut(strings.TrimPrefix(err.Error(), "yaml: "), 4*maxProblem)), " ")
	return &problem{detail: plain.Cut("no YAML or JSON: "+strings.TrimPrefix(text, "unmarshal errors: "), maxProblem)}
}

// parts returns the bytes of a node itself, and the nodes in it.
func parts(n *yaml.Node) (bytes int, in []*yaml.Node) {
	if n.Alias != nil {
		return 1, []*yaml.Node{n.Alias}
	}
	return 1 + len(n.Value), n.Content
}

// forbidden finds what must not be in a document: a word such as y or no without
// quotes, which YAML 1.1 takes for a truth value and 1.2 for a text, and a field that
// is there twice.
func forbidden(n *yaml.Node) *problem {
	switch {
	case n.Kind == yaml.ScalarNode && n.Style == 0:
		switch strings.ToLower(n.Value) {
		case "y", "n", "yes", "no", "on", "off":
			return &problem{detail: fmt.Sprintf("line %d: %s is a text to some readers of YAML and true or false to others", n.Line, n.Value),
				fix: "write it in quotes, or write true or false"}
		}
	case n.Kind == yaml.MappingNode:
		if again := twice(n); again != nil {
			return &problem{detail: fmt.Sprintf("line %d: the field %s is there twice", again.Line, show(again.Value)), fix: "keep one"}
		}
	}
	for _, part := range n.Content {
		if bad := forbidden(part); bad != nil {
			return bad
		}
	}
	return nil
}

// separators counts the places after which a value can begin. Reading YAML takes some
// hundred bytes of memory for each.
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

// twice returns a key that its mapping has before, nil without one.
func twice(n *yaml.Node) *yaml.Node {
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			continue
		}
		if seen[key.Value] {
			return key
		}
		seen[key.Value] = true
	}
	return nil
}
