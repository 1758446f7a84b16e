package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Edit changes the plugins of a configuration file and leaves the rest as it is
// written, comments included; only empty lines and indentation may change. It does not
// check the file: Parse does.
type Edit struct {
	doc  yaml.Node
	root *yaml.Node
}

// NewEdit begins a change of a file; an empty text is the default configuration.
func NewEdit(text []byte) (*Edit, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	}
	e := &Edit{}
	if err := yaml.Unmarshal(text, &e.doc); err != nil {
		return nil, err
	}
	if len(e.doc.Content) != 1 || e.doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is no mapping of fields")
	}
	e.root = e.doc.Content[0]
	return e, nil
}

// Text is the file after the change.
func (e *Edit) Text() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(&e.doc); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// Add enables a plugin at all of its points, in the named profile or in all of them if
// the name is empty, with args as they are marshalled.
func (e *Edit) Add(profile, name string, args any) error {
	profiles, err := e.profiles(true)
	if err != nil {
		return err
	}
	var value yaml.Node
	if err := value.Encode(args); err != nil {
		return err
	}
	added := 0
	for _, p := range profiles {
		if profile != "" && valueOf(at(p, "schedulerName")) != profile {
			continue
		}
		added++
		points, err := reach(p, yaml.MappingNode, "plugins", "multiPoint")
		if err != nil {
			return err
		}
		enabled, err := reach(points, yaml.SequenceNode, "enabled")
		if err != nil {
			return err
		}
		configs, err := reach(p, yaml.SequenceNode, "pluginConfig")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(slices.Concat(enabled.Content, configs.Content), func(n *yaml.Node) bool { return valueOf(at(n, "name")) == name }) {
			return fmt.Errorf("it has a plugin %s already", name)
		}
		enabled.Content = append(enabled.Content, newMapping("name", newScalar(name)))
		configs.Content = append(configs.Content, newMapping("name", newScalar(name), "args", &value))
	}
	if added == 0 {
		return fmt.Errorf("it has no profile %s", quote(profile))
	}
	return nil
}

// Remove takes a plugin out of all profiles.
func (e *Edit) Remove(name string) error {
	profiles, err := e.profiles(false)
	if err != nil {
		return err
	}
	removed := false
	drop := func(list *yaml.Node) {
		if list == nil || list.Kind != yaml.SequenceNode {
			return
		}
		before := len(list.Content)
		list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return valueOf(at(n, "name")) == name })
		removed = removed || len(list.Content) < before
	}
	for _, p := range profiles {
		drop(at(p, "pluginConfig"))
		plugins := at(p, "plugins")
		for i := 1; plugins != nil && i < len(plugins.Content); i += 2 {
			drop(at(plugins.Content[i], "enabled"))
		}
		prune(p)
	}
	if !removed {
		return fmt.Errorf("it has no plugin %s", quote(name))
	}
	return nil
}

// Each calls f with the name and the args of each plugin that has args. What f returns,
// if it is not nil, replaces fields of the args, as they are marshalled: a path of
// names to each.
func (e *Edit) Each(f func(name string, args func(path ...string) string) map[string]any) error {
	profiles, err := e.profiles(false)
	if err != nil {
		return err
	}
	for _, p := range profiles {
		configs := at(p, "pluginConfig")
		if configs == nil {
			continue
		}
		for _, c := range configs.Content {
			args := at(c, "args")
			get := func(path ...string) string {
				n := args
				for _, name := range path {
					n = at(n, name)
				}
				return valueOf(n)
			}
			for name, value := range f(valueOf(at(c, "name")), get) { // args are a mapping, or f saw none of them
				if err := replace(args, name, value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// replace sets a field. A value that is a map changes the fields of a mapping that is
// there.
func replace(n *yaml.Node, name string, value any) error {
	if inner, ok := value.(map[string]any); ok {
		below, err := reach(n, yaml.MappingNode, name)
		if err != nil {
			return err
		}
		for name, value := range inner {
			if err := replace(below, name, value); err != nil {
				return err
			}
		}
		return nil
	}
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			node.LineComment, node.FootComment = n.Content[i+1].LineComment, n.Content[i+1].FootComment
			n.Content[i+1] = &node
			return nil
		}
	}
	n.Content = append(n.Content, newScalar(name), &node)
	return nil
}

// SetFields sets fields of a YAML file that is a mapping, as they are marshalled.
func SetFields(text []byte, fields map[string]any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	e, err := NewEdit(text)
	if err != nil {
		return nil, err
	}
	if len(e.root.Content) == 0 {
		e.root.Style = 0
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := replace(e.root, name, fields[name]); err != nil {
			return nil, err
		}
	}
	return e.Text()
}

// profiles returns the profiles. If there are none, make adds the default one.
func (e *Edit) profiles(make bool) ([]*yaml.Node, error) {
	if !make && at(e.root, "profiles") == nil {
		return nil, nil
	}
	list, err := reach(e.root, yaml.SequenceNode, "profiles")
	if err != nil {
		return nil, err
	}
	if make && len(list.Content) == 0 {
		list.Content = append(list.Content, newMapping("schedulerName", newScalar("default-scheduler")))
	}
	return list.Content, nil
}

// at returns a field of a mapping, nil if there is none.
func at(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// reach returns what is at a path of a mapping, and makes what is missing: mappings, and
// last a node of the kind.
func reach(n *yaml.Node, kind yaml.Kind, path ...string) (*yaml.Node, error) {
	for i, name := range path {
		want := yaml.MappingNode
		if i == len(path)-1 {
			want = kind
		}
		below := at(n, name)
		switch {
		case n.Kind != yaml.MappingNode:
			return nil, fmt.Errorf("line %d: it has an alias or another value where a mapping belongs: edit it by hand", n.Line)
		case below == nil:
			below = &yaml.Node{Kind: want}
			n.Content = append(n.Content, newScalar(name), below)
		case below.Tag == "!!null" && below.Kind == yaml.ScalarNode:
			*below = yaml.Node{Kind: want}
		case below.Kind != want:
			return nil, fmt.Errorf("line %d: %s is an alias or another value than expected: edit it by hand", below.Line, name)
		}
		n = below
	}
	return n, nil
}

// prune takes fields of a profile away that are empty after a plugin was.
func prune(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); {
		value := n.Content[i+1]
		switch n.Content[i].Value {
		case "plugins", "multiPoint":
			prune(value)
		case "enabled", "pluginConfig":
		default:
			i += 2
			continue
		}
		if len(value.Content) == 0 && value.Kind != yaml.ScalarNode && value.Kind != yaml.AliasNode {
			n.Content = slices.Delete(n.Content, i, i+2)
			continue
		}
		i += 2
	}
}

func valueOf(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func newScalar(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func newMapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range pairs {
		if s, ok := p.(string); ok {
			n.Content = append(n.Content, newScalar(s))
		} else {
			n.Content = append(n.Content, p.(*yaml.Node))
		}
	}
	return n
}
