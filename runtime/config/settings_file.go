package config

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// readSettingsFile loads the file into v. It returns the line of each key, and a mistake for
// each key that is unknown, duplicate or has a value that does not fit its flag. Keys are
// case-sensitive; with viper alone they would not be. An empty file is valid.
func readSettingsFile(ctx context.Context, v *viper.Viper, flags *pflag.FlagSet, file string) (map[string]int, []*Error, error) {
	if file == "" {
		return nil, nil, nil
	}
	data, err := bounded.File(ctx, file, bounded.Settings)
	if err != nil {
		return nil, nil, fmt.Errorf("read settings: %w", err)
	}
	root, err := settingsMapping(file, data)
	if err != nil || root == nil {
		return nil, nil, err
	}

	names := flagNames(flags)
	at := map[string]int{}
	values := map[string]any{}
	var mistakes []*Error
	wrong := func(key *yaml.Node, detail, fix string) {
		mistakes = append(mistakes, &Error{File: file, Line: key.Line, Path: key.Value, Detail: detail, Fix: fix})
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		first, twice := at[key.Value]
		value, err := settingsValue(root.Content[i+1])
		switch {
		case !slices.Contains(names, key.Value):
			wrong(key, "unknown key", keyFix(key.Value, names))
		case twice:
			wrong(key, fmt.Sprintf("the key is given twice, first in line %d", first), "keep one of them")
		case err != nil:
			wrong(key, err.Error(), valueFix(flags.Lookup(key.Value)))
		default:
			at[key.Value], values[key.Value] = key.Line, value
		}
	}
	if err := v.MergeConfigMap(values); err != nil {
		return nil, nil, fmt.Errorf("file %s: %w", file, err)
	}
	return at, mistakes, nil
}

// settingsValue returns the string of a scalar, or the strings of a list.
func settingsValue(node *yaml.Node) (any, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Tag == "!!null":
		return nil, errors.New("the value is missing")
	case node.Kind == yaml.ScalarNode:
		return node.Value, nil
	case node.Kind != yaml.SequenceNode:
		return nil, errors.New("invalid value: a mapping does not fit a flag")
	}
	texts := []string{}
	for i, item := range node.Content {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, fmt.Errorf("invalid value: element %d is not a plain value", i)
		}
		texts = append(texts, item.Value)
	}
	return texts, nil
}

// settingsMapping returns the mapping at the top of the file, nil if it is empty.
func settingsMapping(file string, data []byte) (*yaml.Node, error) {
	root, err := strictyaml.Parse(data)
	switch {
	case err != nil:
		return nil, syntaxErrors(file, data, err)[0]
	case root != nil && root.Kind != yaml.MappingNode:
		return nil, &Error{File: file, Line: root.Line, Detail: "the settings are not a mapping", Fix: "write lines such as seed: 7"}
	}
	return root, nil
}

// keyFix names the nearest key, or all keys.
func keyFix(key string, names []string) string {
	if near, ok := nearest.Of(key, names); ok {
		return "did you mean " + quote(near) + "?"
	}
	return "the keys are the flags: " + list(names)
}

// flagNames returns the flags that a file can set.
func flagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	return names
}
