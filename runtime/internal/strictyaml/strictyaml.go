// Package strictyaml reads the one YAML document of a file, which may be JSON:
// configurations, manifests' configurations and clusters. It refuses what
// other readers of YAML ignore or read differently: second documents, keys that
// occur twice, aliases that expand to gigabytes.
//
// There are two ways from a tree to values. Values is sigs.k8s.io/yaml, which
// kube-scheduler and kubectl use; what they refuse is refused, but it parses the text
// again. JSON writes an existing tree, with the same reading of words
// and numbers (but the key y stays y): a pod costs 18 µs and 2.5 kB, and with Values
// 157 µs and 39 kB (go test -bench BenchmarkPod). Large clusters are read so.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// SecondDocument is the error of a text with more than one document.
type SecondDocument struct{ Line int }

func (e *SecondDocument) Error() string {
	return fmt.Sprintf("line %d: a second document begins", e.Line)
}

// Parse returns the root of the only document of a text, nil if it is empty. Only
// empty documents may follow, as a "---" at the end starts one.
//
// # Errors
//
// A *SecondDocument, or what the YAML library says, which Explain takes apart.
func Parse(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root *yaml.Node
	for first := true; ; first = false {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, err
		case doc.Content[0].Tag == "!!null":
		case !first:
			return nil, &SecondDocument{doc.Line}
		default:
			root = doc.Content[0]
		}
	}
}

// Values returns the values of a document as JSON. A key that occurs twice, or that
// a merge (<<) sets once more, is an error, unless twice is true: then the last
// counts.
func Values(text []byte, twice bool) ([]byte, error) {
	if twice {
		return sigsyaml.YAMLToJSON(text)
	}
	return sigsyaml.YAMLToJSONStrict(text)
}

// Fits reports whether a document, written out without aliases, has at most most
// bytes of texts and one for each node.
func Fits(root *yaml.Node, most int) bool {
	return fit(root, func(n *yaml.Node) (bytes int, parts []*yaml.Node) {
		if n.Alias != nil {
			return 1, []*yaml.Node{n.Alias}
		}
		return 1 + len(n.Value), n.Content
	}, most)
}

// Duplicate is a key that its mapping has before.
type Duplicate struct {
	Key, First *yaml.Node
	// Path is keys, and indices of sequences as int, from the root to the key.
	Path []any
}

// Duplicates returns the keys that occur twice, in the order of the text. It does
// not follow aliases: an anchor is visited where it is defined.
func Duplicates(root *yaml.Node) []Duplicate { return duplicates(nil, root, nil) }

func duplicates(out []Duplicate, n *yaml.Node, path []any) []Duplicate {
	path = path[:len(path):len(path)] // siblings must not share what follows
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			out = duplicates(out, c, append(path, i))
		}
	case yaml.MappingNode:
		first := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			at := append(path, key.Value)
			if before, ok := first[key.Value]; ok && key.Kind == yaml.ScalarNode {
				out = append(out, Duplicate{key, before, at})
			} else {
				first[key.Value] = key
			}
			out = duplicates(out, n.Content[i+1], at)
		}
	}
	return out
}
