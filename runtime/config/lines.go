package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// maxFollowed bounds how many aliases and merged mappings one lookup follows, because an anchor
// may contain itself and merges may fan out.
const maxFollowed = 1000

// lines maps field paths to lines of a YAML file. The zero value and nil know
// no lines.
type lines struct{ root *yaml.Node }

// of returns the line (from 1) of the deepest existing part of path: the line of the key for a
// field, of the first character for a list element. It is 0 if there is no file. Path is in the
// form of field.Path.String.
func (l *lines) of(path string) int {
	line, _ := l.find(path)
	return line
}

// node returns the value at path; nil if there is none.
func (l *lines) node(path string) *yaml.Node {
	_, node := l.find(path)
	return node
}

// find returns the line of the deepest existing part of path, and the value if all of it exists.
func (l *lines) find(path string) (line int, node *yaml.Node) {
	if l == nil || l.root == nil {
		return 0, nil
	}
	node, budget := l.root, maxFollowed
	line = node.Line
	for rest := path; rest != ""; {
		key, value, after := step(node, rest, &budget)
		if value == nil {
			return line, nil
		}
		node, line, rest = value, key.Line, after
	}
	return line, node
}

// step follows the first element of path from node. It returns the node that names the element,
// its value, and the rest of the path. value is nil if there is no such element, or if the
// budget of nodes is used up.
func step(node *yaml.Node, path string, budget *int) (key, value *yaml.Node, rest string) {
	if *budget--; *budget < 0 || node == nil {
		return nil, nil, ""
	}
	switch node.Kind {
	case yaml.AliasNode:
		return step(node.Alias, path, budget)
	case yaml.SequenceNode:
		return item(node, path)
	case yaml.MappingNode:
		return entryOf(node, path, budget)
	}
	return nil, nil, ""
}

func item(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(node.Content) {
		return nil, nil, ""
	}
	return node.Content[i], node.Content[i], strings.TrimPrefix(rest, ".")
}

// entryOf looks for the longest key that is a prefix of path, because keys may contain dots;
// then it looks in the mappings merged with "<<". Of equal keys the last one counts, as in
// decoding.
func entryOf(node *yaml.Node, path string, budget *int) (key, value *yaml.Node, rest string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		k := node.Content[i]
		after, ok := strings.CutPrefix(path, k.Value)
		if !ok {
			after, ok = strings.CutPrefix(path, strictyaml.Join("", k.Value))
		}
		if !ok || k.Value == "" || after != "" && after[0] != '.' && after[0] != '[' {
			continue
		}
		if key == nil || len(k.Value) >= len(key.Value) {
			key, value, rest = k, node.Content[i+1], strings.TrimPrefix(after, ".")
		}
	}
	if value != nil {
		return key, value, rest
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		merged := node.Content[i+1]
		sources := []*yaml.Node{merged}
		if merged.Kind == yaml.SequenceNode {
			sources = merged.Content
		}
		for _, s := range sources {
			if key, value, rest = step(s, path, budget); value != nil {
				return key, value, rest
			}
		}
	}
	return nil, nil, ""
}
