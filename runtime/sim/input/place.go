package input

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// place says where an object is, so that it can be parsed again when an error needs a line.
// Lines are not looked up before.
type place struct {
	chunk *chunk
	first int      // the object's line
	steps []string // from the chunk's tree to the object: items and an index
}

// line returns the line in the file of a node of the chunk's tree.
func (p place) line(n *yaml.Node) int { return p.chunk.lineAt(n.Line) }

// node parses the chunk again, once, and finds the object. It returns nil if that fails, which
// is possible only for JSON that is not YAML.
func (p place) node() *yaml.Node {
	n := p.chunk.parsed()
	if n == nil {
		return nil
	}
	if p.chunk.whole != nil && n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, step := range p.steps {
		if n = child(n, step); n == nil {
			return nil
		}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// lineOf returns the line of a field path below the object, or of its nearest ancestor in the
// file, or else the object's own line. n is the object's tree; if nil, the object is parsed
// again.
func (p place) lineOf(n *yaml.Node, path string) int {
	if n == nil {
		n = p.node()
	}
	if n == nil {
		return p.first
	}
	line := p.first
	for path != "" {
		key, value, rest := next(n, path)
		if value == nil {
			break
		}
		n, line, path = value, p.line(value), rest
		if key != nil {
			line = p.line(key)
		}
	}
	return line
}

// warning is about a field of the object.
func (p place) warning(line int, path, detail string) Warning {
	return Warning{Source{p.chunk.file, line}, path, detail}
}

// at returns the error for a field of the object.
func (p place) at(n *yaml.Node, path, detail, fix string) *Error {
	return &Error{File: p.chunk.file, Line: p.lineOf(n, path), Path: path, Detail: detail, Fix: fix}
}

// next returns the key and the value that a path below n begins with, or an item of a sequence without a key, and the rest of the
// path. In the path, keys are as strictyaml.Join and field.Path write them. Of two that fit, as a and a.b do, the longer counts.
func next(n *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if index, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]"); ok && n.Kind == yaml.SequenceNode {
		value = child(n, index)
		return nil, value, strings.TrimPrefix(after, ".")
	}
	longest := 0
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		for _, written := range []string{name, "[" + name + "]", strictyaml.Join("", name)} {
			after, ok := strings.CutPrefix(path, written)
			if ok && len(written) > longest && (after == "" || after[0] == '.' || after[0] == '[') {
				longest = len(written)
				key, value, rest = n.Content[i], n.Content[i+1], strings.TrimPrefix(after, ".")
			}
		}
	}
	return key, value, rest
}

// child returns the value of a key of a mapping, or an item of a sequence; nil if there is none.
func child(n *yaml.Node, step string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

func scalarAt(n *yaml.Node, key string) string {
	v := child(n, key)
	if v != nil && v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return v.Value
}

// pathOf returns the path from root to a node below it; empty if it is not there.
func pathOf(root, n *yaml.Node) (path string) {
	at := root
	for _, i := range slices.Backward(trail(root, n)) {
		switch {
		case at.Kind == yaml.SequenceNode:
			path += "[" + strconv.Itoa(i) + "]"
		case i%2 == 0:
			path = strictyaml.Join(path, at.Content[i].Value)
		default:
			path = strictyaml.Join(path, at.Content[i-1].Value)
		}
		at = at.Content[i]
	}
	return path
}

// trail returns the indices into Content that lead to a node below at, the last first.
func trail(at, n *yaml.Node) []int {
	for i, c := range at.Content {
		if c == n {
			return []int{i}
		}
		if found := trail(c, n); found != nil {
			return append(found, i)
		}
	}
	return nil
}
