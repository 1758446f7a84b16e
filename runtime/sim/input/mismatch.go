package input

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// mismatch is a node of the tree that does not fit the type of its field.
type mismatch struct {
	node              *yaml.Node
	path, detail, fix string
}

// mismatches compares a tree with the type of obj. It returns every field that the type does
// not have, except under status, and every value that does not fit. It runs after the decoder
// failed, because the decoder stops at the first mistake, and does not say where a wrong
// quantity is.
func mismatches(n *yaml.Node, obj any) []mismatch {
	w := walker{}
	w.walk(n, reflect.TypeOf(obj), "", 0)
	return w.found
}

type walker struct{ found []mismatch }

func (w *walker) add(n *yaml.Node, path, detail, fix string) {
	if len(w.found) <= MaxErrors {
		w.found = append(w.found, mismatch{n, path, detail, fix})
	}
}

func (w *walker) walk(n *yaml.Node, t reflect.Type, path string, depth int) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if depth > strictyaml.MaxDepth || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if _, own := reflect.New(t).Interface().(json.Unmarshaler); own {
		w.leaf(n, t, path)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			w.add(n, path, "it must be an object", "write its fields below it, indented")
			return
		}
		fields := jsonFields(t)
		w.pairs(n, func(key, value *yaml.Node) {
			ft, ok := fields[key.Value]
			if !ok && inStatus(path) {
				return
			}
			if !ok {
				w.add(key, join(path, key.Value), "no such field", unknownFix(key.Value, fields))
				return
			}
			w.walk(value, ft, join(path, key.Value), depth+1)
		})
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			w.add(n, path, "it must be an object", "write key: value below it, indented")
			return
		}
		w.pairs(n, func(key, value *yaml.Node) { w.walk(value, t.Elem(), path+"["+key.Value+"]", depth+1) })
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			w.leaf(n, t, path)
			return
		}
		if n.Kind != yaml.SequenceNode {
			w.add(n, path, "it must be a list", "write each item below it after a dash")
			return
		}
		for i, item := range n.Content {
			w.walk(item, t.Elem(), path+"["+strconv.Itoa(i)+"]", depth+1)
		}
	default:
		w.leaf(n, t, path)
	}
}

// pairs visits the keys of a mapping, including those of merges.
func (w *walker) pairs(n *yaml.Node, visit func(key, value *yaml.Node)) {
	pairs, err := strictyaml.Merged(n)
	if err != nil {
		return // the JSON conversion has refused it already
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		visit(pairs[i], pairs[i+1])
	}
}

// leaf decodes the value on its own.
func (w *walker) leaf(n *yaml.Node, t reflect.Type, path string) {
	text, err := strictyaml.JSON(n)
	if err != nil {
		return
	}
	v := reflect.New(t)
	if json.Unmarshal(text, v.Interface()) == nil {
		return
	}
	value := n.Value
	if n.Kind != yaml.ScalarNode {
		value = string(text)
	}
	if r := []rune(value); len(r) > 60 {
		value = string(r[:60]) + "…"
	}
	switch v.Interface().(type) {
	case *resource.Quantity:
		w.add(n, path, fmt.Sprintf("%q is not a quantity", value), "write a number with or without a suffix, such as 500m, 2 or 4Gi")
		return
	case *metav1.Time, *metav1.MicroTime:
		w.add(n, path, fmt.Sprintf("%q is not a time", value), "write it as "+time.RFC3339+", such as 2024-01-31T12:00:00Z")
		return
	case *intstr.IntOrString:
		w.add(n, path, fmt.Sprintf("%q is neither a number nor text", value), "write such as 1 or \"50%\"")
		return
	}
	switch t.Kind() {
	case reflect.String:
		w.add(n, path, fmt.Sprintf("%s is not text", value), "quote it: "+strconv.Quote(value))
	case reflect.Bool:
		w.add(n, path, fmt.Sprintf("%q is not a boolean", value), "write true or false, without quotes")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.add(n, path, fmt.Sprintf("%q is not a whole number of %d bits", value, t.Bits()), "write digits only, without quotes")
	default:
		w.add(n, path, fmt.Sprintf("%q does not fit a field of type %s", value, t), "see the API reference of the kind")
	}
}

// jsonFields returns the types of a struct's fields by their JSON names.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
			for k, v := range jsonFields(f.Type) {
				out[k] = v
			}
		case name != "":
			out[name] = f.Type
		}
	}
	return out
}

// unknownFix names the field that was probably meant.
func unknownFix(name string, fields map[string]reflect.Type) string {
	best, bestAt := "", 3 // at most two letters differ
	for field := range fields {
		d := distance(strings.ToLower(name), strings.ToLower(field))
		if d < bestAt || d == bestAt && best != "" && field < best {
			best, bestAt = field, d
		}
	}
	if best != "" && bestAt < len(best) {
		return "did you mean " + best + "?"
	}
	return "remove it, or check its spelling and indentation"
}

// distance returns the number of letters to insert, delete or change. It stops early if the
// lengths differ too much.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
