package strictyaml

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/internal/plain"
)

// MaxMismatches is how many mismatches of a document are found at most.
const MaxMismatches = 100

// maxListed is how many fields a message lists, and maxShown and maxError how much of a value and of an error, in bytes.
const maxListed, maxShown, maxError = 24, 60, 256

// Mismatch is a part of a document that does not fit the Go type of its field.
type Mismatch struct {
	// Node is the key of an unknown field, and the value of another mismatch.
	Node *yaml.Node
	// Path is keys, and indices of lists as int, from the root to the field.
	Path []any
	// Unknown is true if the type has no such field.
	Unknown     bool
	Detail, Fix string // Fix may be empty
}

// Mismatches holds a tree against the JSON form of a type. It returns the first fields that the type does not have
// and the first values that do not fit, in their order. Names of fields are case-sensitive, unlike in encoding/json.
// Unknown fields below those that passes (optional) reports are passed over.
func Mismatches(root *yaml.Node, t reflect.Type, passes func(path []any) bool) []Mismatch {
	w := walker{passes: passes}
	w.node(root, t)
	return w.found
}

type walker struct {
	found  []Mismatch
	passes func(path []any) bool
	path   []any
}

func (w *walker) add(n *yaml.Node, unknown bool, detail, fix string) {
	if len(w.found) < MaxMismatches {
		w.found = append(w.found, Mismatch{n, slices.Clone(w.path), unknown, detail, fix})
	}
}

func (w *walker) below(step any, visit func()) {
	w.path = append(w.path, step)
	visit()
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) node(n *yaml.Node, t reflect.Type) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(w.path) > MaxDepth || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	object := t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		w.leaf(n, t)
	case object && n.Kind != yaml.MappingNode:
		w.leaf(n, t)
	case object:
		w.mapping(n, t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			w.below(i, func() { w.node(item, t.Elem()) })
		}
	default:
		w.leaf(n, t)
	}
}

func (w *walker) mapping(n *yaml.Node, t reflect.Type) {
	pairs, err := Merged(n)
	if err != nil {
		return // what makes JSON of the tree refuses it
	}
	var known map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		known = Fields(t)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		w.below(key.Value, func() {
			field, ok := known[key.Value]
			switch {
			case known == nil:
				w.node(value, t.Elem())
			case ok:
				w.node(value, field)
			case w.passes == nil || !w.passes(w.path):
				w.add(key, true, "unknown field", FieldFix(key.Value, known))
			}
		})
	}
}

// leaf decodes a value by itself.
func (w *walker) leaf(n *yaml.Node, t reflect.Type) {
	text, err := JSON(n)
	if err != nil {
		return // as in mapping
	}
	err = json.Unmarshal(text, reflect.New(t).Interface())
	if fits := err == nil && (!isRaw(t) || text[0] == '{'); fits { // what is raw takes anything
		return
	}
	var value any
	_ = json.Unmarshal(text, &value) // JSON has made it
	if _, ok := value.(float64); ok {
		value = json.Number(text)
	}
	want, fix := expected(t)
	if want == "" {
		w.add(n, false, "invalid value: "+plain.Line(err.Error(), maxError), "")
		return
	}
	found := Describe(value)
	_, isText := value.(string)
	switch {
	case isText && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		found = "other text" // it may be a private key
	case isText && json.Unmarshal([]byte(n.Value), reflect.New(t).Interface()) == nil:
		fix = "write it without quotes"
	case !isText && t.Kind() == reflect.String && n.Kind == yaml.ScalarNode:
		fix = "quote it: " + strconv.Quote(plain.Cut(n.Value, maxShown))
	}
	w.add(n, false, "expected "+want+", found "+found, fix)
}

// expected describes the values of a type, and says how to write one if that helps; want is empty for types that describe
// them in their errors.
func expected(t reflect.Type) (want, fix string) {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return `a duration such as "10s"`, ""
	case reflect.TypeFor[resource.Quantity]():
		return "a quantity such as 500m, 2 or 4Gi", ""
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2024-01-31T12:00:00Z", "write it as " + time.RFC3339
	case reflect.TypeFor[intstr.IntOrString]():
		return `a number, or a string such as "50%"`, ""
	}
	switch {
	case isRaw(t):
		return "a mapping", ""
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return "", ""
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "a mapping", "write its fields below it, indented"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64 text", ""
		}
		return "a list", "write each item below it after a dash"
	case reflect.String:
		return "a string", ""
	case reflect.Bool:
		return "true or false", ""
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a %d-bit integer", t.Bits()), ""
	case reflect.Float32, reflect.Float64:
		return "a number", ""
	}
	return "", ""
}

// isRaw reports whether a type is an object that is read later.
func isRaw(t reflect.Type) bool {
	raw := reflect.TypeFor[runtime.RawExtension]()
	return t == raw || t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Type == raw
}

// Describe describes a JSON value for a message, with the value if it is short.
func Describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + plain.Cut(v.String(), maxShown)
	case string:
		if len(v) > maxShown {
			return "text"
		}
		return "the string " + strconv.Quote(v)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}

// Fields returns the types of a struct's fields by their names in JSON, those of embedded structs included.
func Fields(t reflect.Type) map[string]reflect.Type {
	out := make(map[string]reflect.Type)
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && f.Anonymous:
			for f.Type.Kind() == reflect.Pointer {
				f.Type = f.Type.Elem()
			}
			maps.Copy(out, Fields(f.Type))
		case name == "":
			out[f.Name] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}

// FieldFix says what to do about a field that is not one of the known ones.
func FieldFix(name string, known map[string]reflect.Type) string {
	names := slices.Sorted(maps.Keys(known))
	if near, ok := nearest.Of(name, names); ok {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	if len(names) > maxListed {
		return "remove it, or check its spelling and indentation"
	}
	return "the fields here are " + strings.Join(names, ", ")
}

// Remove takes the values of mismatches out of the JSON tree of the document. What is left fits.
func Remove(tree any, found []Mismatch) {
	for _, m := range found {
		at, last := tree, len(m.Path)-1
		for _, step := range m.Path[:max(last, 0)] {
			at = element(at, step)
		}
		if last < 0 {
			continue
		}
		switch at := at.(type) {
		case map[string]any:
			if key, ok := m.Path[last].(string); ok {
				delete(at, key)
			}
		case []any:
			if i, ok := m.Path[last].(int); ok && i < len(at) {
				at[i] = nil
			}
		}
	}
}

func element(tree, step any) any {
	switch at := tree.(type) {
	case map[string]any:
		key, _ := step.(string)
		return at[key]
	case []any:
		if i, ok := step.(int); ok && i < len(at) {
			return at[i]
		}
	}
	return nil
}
