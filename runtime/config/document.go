package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	jsonyaml "sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/internal/aliases"
)

const configKind = "KubeSchedulerConfiguration"

// document is one YAML (or JSON) file. The values come from sigs.k8s.io/yaml,
// which kube-scheduler uses too (YAML 1.1: yes is a boolean); the node tree of
// yaml/v3 serves for lines and for duplicate keys only.
type document struct {
	tree  map[string]any // numbers are json.Number; nil if it cannot be read
	lines *lines
}

// readDocument parses the only document of a file. Duplicate keys are errors
// that leave the tree usable.
func readDocument(file string, data []byte) (document, []*Error) {
	data = plainSlashes(bytes.TrimPrefix(data, []byte("\ufeff")))
	root, bad := onlyDocument(file, data)
	if bad != nil {
		return document{}, []*Error{bad}
	}
	if root == nil {
		return document{}, []*Error{{File: file, Detail: "the file is empty",
			Fix: "begin with apiVersion and kind, or give no file to use the defaults"}}
	}
	doc := document{lines: &lines{root: root}}
	r := newReport(file, doc.lines)
	reportDuplicates(r, root, nil)
	if !aliases.Fit(root, parts, maxExpanded) {
		return doc, append(r.errs, &Error{File: file, Detail: fmt.Sprintf("the aliases stand for more than %d bytes, or for themselves", maxExpanded), Fix: "write them out"})
	}
	toJSON := jsonyaml.YAMLToJSONStrict
	if len(r.errs) > 0 {
		toJSON = jsonyaml.YAMLToJSON // the duplicates are known with their paths
	}
	raw, err := toJSON(data)
	if err != nil {
		return doc, append(r.errs, syntaxErrors(file, data, err)...)
	}
	var value any
	if err := unmarshalNumbers(raw, &value); err != nil {
		return doc, append(r.errs, syntaxErrors(file, data, err)...)
	}
	tree, ok := value.(map[string]any)
	if !ok {
		r.add(nil, "expected a mapping, found "+kindOf(value), "begin with apiVersion and kind")
	}
	doc.tree = tree
	return doc, r.errs
}

// maxExpanded bounds what aliases make of a file, in bytes of its texts.
const maxExpanded = 16 << 20

// parts returns the bytes of a node itself, and the nodes in it.
func parts(n *yaml.Node) (bytes int, in []*yaml.Node) {
	if n.Alias != nil {
		return 1, []*yaml.Node{n.Alias}
	}
	return 1 + len(n.Value), n.Content
}

// reportDuplicates adds an error for each key that its mapping had before. It
// does not follow aliases: an anchor is visited where it is defined.
func reportDuplicates(r *report, node *yaml.Node, path *field.Path) {
	switch node.Kind {
	case yaml.SequenceNode:
		for i, c := range node.Content {
			reportDuplicates(r, c, path.Index(i))
		}
	case yaml.MappingNode:
		first := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			p := path.Child(key.Value)
			if line, ok := first[key.Value]; ok && key.Kind == yaml.ScalarNode {
				r.errs = append(r.errs, &Error{File: r.file, Line: key.Line, Path: text(p),
					Detail: fmt.Sprintf("the field is given twice, first in line %d", line), Fix: "keep one of them"})
			} else {
				first[key.Value] = key.Line
			}
			reportDuplicates(r, node.Content[i+1], p)
		}
	}
}

// checkHeader reports whether apiVersion and kind are the expected ones. If not,
// nothing else can be checked.
func checkHeader(r *report, tree map[string]any) bool {
	want := configv1.SchemeGroupVersion.String()
	version, versionOK := headerField(r, tree, "apiVersion", want)
	kind, kindOK := headerField(r, tree, "kind", configKind)
	if kindOK && kind != configKind {
		r.add(field.NewPath("kind"), fmt.Sprintf("expected %q, found %q", configKind, kind), "write kind: "+configKind)
		kindOK = false
	}
	if versionOK && version != want {
		r.add(field.NewPath("apiVersion"), fmt.Sprintf("expected %q, found %q", want, version), versionFix(version))
		versionOK = false
	}
	return versionOK && kindOK
}

func headerField(r *report, tree map[string]any, name, want string) (string, bool) {
	switch v := tree[name].(type) {
	case string:
		return v, true
	case nil:
		r.add(field.NewPath(name), "the field is missing", "add "+name+": "+want)
	default:
		r.add(field.NewPath(name), "expected a string, found "+kindOf(v), "write "+name+": "+want)
	}
	return "", false
}

// versionFix says what to do about an apiVersion that is not v1.
func versionFix(version string) string {
	group, v, _ := strings.Cut(version, "/")
	removed := []string{"v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3"}
	if group == configv1.GroupName && slices.Contains(removed, v) {
		return "kube-scheduler v1.36 does not read " + v + " either; convert it to " + configv1.SchemeGroupVersion.String()
	}
	return "write apiVersion: " + configv1.SchemeGroupVersion.String()
}

// unmarshalNumbers is json.Unmarshal that keeps numbers as json.Number.
func unmarshalNumbers(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}
