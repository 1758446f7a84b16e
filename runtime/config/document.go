package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

const configKind = "KubeSchedulerConfiguration"

// document is one YAML (or JSON) file. Its values are what kube-scheduler reads (YAML 1.1: yes
// is a boolean). The syntax tree is used only for lines and duplicate keys.
type document struct {
	tree  map[string]any // numbers are json.Number; nil if it cannot be read
	lines *lines
}

// readDocument parses a file with a single document. Duplicate keys are errors, but leave the
// tree usable.
func readDocument(file string, data []byte) (document, []*Error) {
	data = plainSlashes(bytes.TrimPrefix(data, []byte("\ufeff")))
	root, err := strictyaml.Parse(data)
	if err != nil {
		return document{}, syntaxErrors(file, data, err)[:1]
	}
	if root == nil {
		return document{}, []*Error{{File: file, Detail: "the file is empty",
			Fix: "begin with apiVersion and kind, or give no file to use the defaults"}}
	}
	doc := document{lines: &lines{root: root}}
	r := newReport(file, doc.lines)
	twice, more := strictyaml.Duplicates(root)
	for _, d := range twice {
		r.errs = append(r.errs, &Error{File: file, Line: d.Key.Line, Path: text(pathOf(nil, d.Path)),
			Detail: fmt.Sprintf("the field is given twice, first in line %d", d.First.Line), Fix: "keep one of them"})
	}
	if more > 0 {
		r.errs = append(r.errs, &Error{File: file, Detail: fmt.Sprintf("%d more fields are given twice", more), Fix: "keep one of each"})
	}
	if !strictyaml.Fits(root, maxExpanded) {
		return doc, append(r.errs, &Error{File: file, Detail: fmt.Sprintf("the aliases stand for more than %d bytes, or for themselves", maxExpanded), Fix: "write them out"})
	}
	raw, err := strictyaml.Values(data, len(r.errs) > 0) // duplicates were reported with their paths
	if err != nil {
		return doc, append(r.errs, syntaxErrors(file, data, err)...)
	}
	var value any
	if err := unmarshalNumbers(raw, &value); err != nil {
		return doc, append(r.errs, syntaxErrors(file, data, err)...)
	}
	tree, ok := value.(map[string]any)
	if !ok {
		r.add(nil, "expected a mapping, found "+strictyaml.Describe(value), "begin with apiVersion and kind")
	}
	doc.tree = tree
	return doc, r.errs
}

// maxExpanded bounds the size of a file with its aliases expanded, in bytes of its texts.
const maxExpanded = 16 << 20

// pathOf is a path of keys and indices below another one, written as strictyaml.Join does.
func pathOf(path *field.Path, steps []any) *field.Path {
	for _, step := range steps {
		if i, ok := step.(int); ok {
			path = path.Index(i)
		} else if key, odd := strings.CutPrefix(strictyaml.Join("", step.(string)), "["); odd {
			path = path.Key(strings.TrimSuffix(key, "]"))
		} else {
			path = path.Child(key)
		}
	}
	return path
}

// checkHeader reports whether apiVersion and kind are as expected. If not, nothing else can be
// checked.
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
		r.add(field.NewPath(name), "expected a string, found "+strictyaml.Describe(v), "write "+name+": "+want)
	}
	return "", false
}

// versionFix says what to do about an apiVersion other than v1.
func versionFix(version string) string {
	group, v, _ := strings.Cut(version, "/")
	removed := []string{"v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3"}
	if group == configv1.GroupName && slices.Contains(removed, v) {
		return "kube-scheduler v1.37 does not read " + v + " either; convert it to " + configv1.SchemeGroupVersion.String()
	}
	return "write apiVersion: " + configv1.SchemeGroupVersion.String()
}

// unmarshalNumbers is json.Unmarshal with numbers as json.Number.
func unmarshalNumbers(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}
