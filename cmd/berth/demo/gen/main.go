// Command gen writes the bundled demo cluster: the nodes, namespaces, priority classes and pods that
// `make demo` schedules. The output depends on nothing but this program, so the committed files can be
// compared with it byte for byte.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:generate go run . -out ../cluster

// document is one object of a file and the remark above it; an empty remark prints nothing.
type document struct {
	remark string
	object any
}

func main() {
	out := flag.String("out", filepath.FromSlash("cmd/berth/demo/cluster"), "folder to write to")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write renders every file of the demo cluster into the folder dir.
func write(dir string) error {
	files, err := render()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render returns the demo cluster's files by name.
func render() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, docs := range map[string][]document{
		"namespaces.yaml":      namespaces(),
		"priorityclasses.yaml": priorityClasses(),
		"nodes.yaml":           nodes(),
		"pods.yaml":            pods(),
	} {
		data, err := encode(docs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = data
	}
	return files, nil
}

// encode prints docs as one multi-document YAML file.
func encode(docs []document) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Written by cmd/berth/demo/gen; change that and run `make generate`.\n")
	for _, d := range docs {
		b.WriteString("---\n")
		for line := range strings.Lines(d.remark) {
			b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		data, err := encodeObject(d.object)
		if err != nil {
			return nil, err
		}
		b.Write(data)
	}
	return b.Bytes(), nil
}

// encodeObject prints an object as a person would write it: without the empty fields that the API types
// always marshal.
func encodeObject(object any) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	return yaml.Marshal(prune(fields))
}

// prune removes what is empty (null, "", 0, {}, [] and what is so after pruning) from value, at every depth. No
// field of the demo cluster means something when it is empty.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if item = prune(item); item == nil {
				delete(v, key)
			} else {
				v[key] = item
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	}
	return value
}
