// Package strictyaml reads the one YAML document of a file, which may be JSON:
// configurations, manifests' configurations and clusters. It refuses what
// other readers of YAML ignore or read differently: second documents, keys that
// occur twice, aliases that expand to gigabytes, thousands of levels.
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
	"slices"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// A tree may have one node for so many bytes of its text, and fewNodes besides. A node takes some 200 bytes. Texts that people or
// programs write have one for ten bytes or more, and a list of zeros one for two.
const bytesOfNode, fewNodes = 5, 400_000

// Bounded refuses a text with very many values for its size, for those who have another library read it.
//
// # Errors
//
// A *NodeError.
func Bounded(text []byte) error {
	if nodes := mostNodes(text); nodes > fewNodes+len(text)/bytesOfNode {
		return &NodeError{&yaml.Node{Line: 1}, fmt.Sprintf("%d bytes with up to %d values would take too much memory", len(text), nodes),
			"remove lists of empty or very short values"}
	}
	return nil
}

// mostNodes returns how many nodes a text may have.
func mostNodes(text []byte) (n int) {
	for _, begins := range []string{",", "\n", ":", "[", "{"} {
		n += bytes.Count(text, []byte(begins))
	}
	return n + 1
}

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
// A *SecondDocument, a *NodeError for a document that nests too deeply or has very many values for its size, or what the YAML library
// says. Explain takes them apart.
func Parse(text []byte) (*yaml.Node, error) {
	if err := Bounded(text); err != nil {
		return nil, err
	}
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
			if n := below(root, MaxDepth); n != nil {
				return nil, &NodeError{n, fmt.Sprintf("nested deeper than %d levels", MaxDepth), "flatten it"}
			}
		}
	}
}

// below returns a node more than levels below n, nil if there is none.
func below(n *yaml.Node, levels int) *yaml.Node {
	if levels < 0 {
		return n
	}
	for _, part := range n.Content {
		if found := below(part, levels-1); found != nil {
			return found
		}
	}
	return nil
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

// Duplicates returns the first keys that occur twice, in the order of the text, and how many more
// there are. It does not follow aliases: an anchor is visited where it is defined.
func Duplicates(root *yaml.Node) (first []Duplicate, more int) {
	f := duplicates{}
	f.node(root)
	return f.first, f.more
}

type duplicates struct {
	first []Duplicate
	more  int
	path  []any // to the node that is visited
}

func (f *duplicates) node(n *yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			f.below(i, c)
		}
	case yaml.MappingNode:
		first := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if before, ok := first[key.Value]; ok && key.Kind == yaml.ScalarNode {
				f.add(key, before)
			} else {
				first[key.Value] = key
			}
			f.below(key.Value, n.Content[i+1])
		}
	}
}

func (f *duplicates) below(step any, n *yaml.Node) {
	f.path = append(f.path, step)
	f.node(n)
	f.path = f.path[:len(f.path)-1]
}

func (f *duplicates) add(key, before *yaml.Node) {
	if len(f.first) == maxMistakes {
		f.more++
		return
	}
	f.first = append(f.first, Duplicate{key, before, append(slices.Clone(f.path), key.Value)})
}
