package strictyaml

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxDepth is how deep objects may nest. Kubernetes objects stay below 30.
	MaxDepth = 200
	// maxAliased is how many bytes aliases may add to a document.
	maxAliased = 16 << 20
)

// converter writes a YAML node tree as JSON, with kubectl's reading of plain
// scalars. It refuses keys that occur twice.
type converter struct {
	out    []byte
	spent  int // bytes that aliases added so far
	since  int // len(out) at the outermost alias, −1 outside
	looked int // keys that merges looked at so far
}

// JSON writes a node of a tree as JSON. Errors are *NodeError.
func JSON(n *yaml.Node) ([]byte, error) {
	c := converter{since: -1}
	if err := c.value(n, 0); err != nil {
		return nil, err
	}
	return c.out, nil
}

// NodeError is a mistake at a node of the tree.
type NodeError struct {
	Node        *yaml.Node
	Detail, Fix string
}

func (e *NodeError) Error() string { return e.Detail }

func (c *converter) value(n *yaml.Node, depth int) error {
	if depth > MaxDepth {
		return &NodeError{n, fmt.Sprintf("nested deeper than %d levels", MaxDepth), "flatten it; an alias may not contain itself"}
	}
	if c.since >= 0 && c.spent+len(c.out)-c.since > maxAliased {
		return &NodeError{n, fmt.Sprintf("aliases make the document larger than %d bytes", maxAliased), "write the values out"}
	}
	switch n.Kind {
	case yaml.AliasNode:
		defer c.aliased()()
		return c.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		c.out = append(c.out, '[')
		for i, item := range n.Content {
			if i > 0 {
				c.out = append(c.out, ',')
			}
			if err := c.value(item, depth+1); err != nil {
				return err
			}
		}
		c.out = append(c.out, ']')
		return nil
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	c.out = append(c.out, "null"...)
	return nil
}

func (c *converter) mapping(n *yaml.Node, depth int) error {
	pairs := n.Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if isMerge(pairs[i]) {
			var err error
			if pairs, err = c.merged(n); err != nil {
				return err
			}
			defer c.aliased()()
			break
		}
	}
	if err := Distinct(pairs); err != nil {
		return err
	}
	c.out = append(c.out, '{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = appendString(c.out, pairs[i].Value)
		c.out = append(c.out, ':')
		if err := c.value(pairs[i+1], depth+1); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// Distinct refuses keys that are no scalars, or that occur twice, in the content of a
// mapping. The error is a *NodeError.
func Distinct(pairs []*yaml.Node) error {
	var seen map[string]int
	if len(pairs) > 32 {
		seen = make(map[string]int, len(pairs)/2)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		key := pairs[i]
		if key.Kind != yaml.ScalarNode {
			return &NodeError{key, "a key must be a plain word", "write key: value"}
		}
		first := -1
		if seen != nil {
			if at, ok := seen[key.Value]; ok {
				first = at
			}
			seen[key.Value] = i
		}
		for j := 0; seen == nil && j < i; j += 2 {
			if pairs[j].Value == key.Value {
				first = j
			}
		}
		if first >= 0 {
			return &NodeError{key, fmt.Sprintf("%q is already on line %d", key.Value, pairs[first].Line), "keep one of them"}
		}
	}
	return nil
}

// aliased notes that what follows was written elsewhere; the result ends it.
func (c *converter) aliased() (end func()) {
	if c.since >= 0 {
		return func() {}
	}
	c.since = len(c.out)
	return func() {
		c.spent += len(c.out) - c.since
		c.since = -1
	}
}
