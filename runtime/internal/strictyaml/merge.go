package strictyaml

import "go.yaml.in/yaml/v3"

// maxMerged is how many keys the merges of one object may look at: a list of merges looks at all
// keys of each of its mappings.
const maxMerged = 1 << 20

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" }

// Merged returns the keys and values of a mapping, those of its merges included. The
// error is a *NodeError.
func Merged(n *yaml.Node) ([]*yaml.Node, error) {
	c := converter{since: -1}
	return c.merged(n)
}

// merged is the mapping's pairs with those of its merge keys (<<) that it does
// not have itself; of several, the first counts.
func (c *converter) merged(n *yaml.Node) ([]*yaml.Node, error) {
	if err := c.merging(n, len(n.Content)/2); err != nil {
		return nil, err
	}
	var own, from []*yaml.Node
	have := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; isMerge(key) {
			from = append(from, sequence(n.Content[i+1])...)
		} else {
			own = append(own, key, n.Content[i+1])
			have[key.Value] = true
		}
	}
	for _, m := range from {
		if m.Kind == yaml.AliasNode {
			m = m.Alias
		}
		if m.Kind != yaml.MappingNode {
			return nil, &NodeError{m, "a merge key takes mappings", "write <<: *name or <<: [*name, *other]"}
		}
		pairs, err := c.merged(m)
		if err == nil {
			err = c.merging(m, len(pairs)/2)
		}
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			if key := pairs[i]; !have[key.Value] {
				have[key.Value] = true
				own = append(own, key, pairs[i+1])
			}
		}
	}
	return own, nil
}

// merging counts the keys of a mapping that a merge looks at.
func (c *converter) merging(n *yaml.Node, keys int) error {
	if c.looked += 1 + keys; c.looked > maxMerged {
		return &NodeError{n, "too many merge keys, or one that contains itself", "write the values out"}
	}
	return nil
}

// sequence is the node's items, or the node itself if it is not a sequence.
func sequence(n *yaml.Node) []*yaml.Node {
	list := n
	if n.Kind == yaml.AliasNode {
		list = n.Alias
	}
	if list.Kind == yaml.SequenceNode {
		return list.Content
	}
	return []*yaml.Node{n}
}
