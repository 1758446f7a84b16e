package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-scheduler/berth/internal/nearest"
)

// decodeTree stores the JSON tree in into, a pointer to a struct. It reports all unknown fields
// and values of the wrong type, under base, and removes them from the tree. It returns false if
// into is not usable even so.
func decodeTree(r *report, base *field.Path, tree map[string]any, into any) bool {
	fits(r, base, tree, reflect.TypeOf(into).Elem())
	raw, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		r.add(base, err.Error(), "")
	}
	return err == nil
}

// fits checks value against the Go type t and reports what does not fit. It removes that from
// mappings and lists, and returns whether the rest of value fits. Field names are
// case-sensitive, unlike in encoding/json.
func fits(r *report, path *field.Path, value any, t reflect.Type) bool {
	if value == nil {
		return true
	}
	if t.Kind() == reflect.Pointer {
		return fits(r, path, value, t.Elem())
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return fitsUnmarshaler(r, path, value, t)
	}
	switch t.Kind() {
	case reflect.Struct:
		if m, ok := value.(map[string]any); ok {
			return fitsStruct(r, path, m, t)
		}
		return mismatch(r, path, "a mapping", value)
	case reflect.Slice:
		return fitsSlice(r, path, value, t)
	case reflect.String:
		_, ok := value.(string)
		return ok || mismatch(r, path, "a string", value)
	case reflect.Bool:
		_, ok := value.(bool)
		return ok || mismatch(r, path, "true or false", value)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, ok := value.(json.Number)
		if ok {
			_, err := strconv.ParseInt(n.String(), 10, t.Bits())
			ok = err == nil
		}
		return ok || mismatch(r, path, fmt.Sprintf("a %d-bit integer", t.Bits()), value)
	case reflect.Float32, reflect.Float64:
		n, ok := value.(json.Number)
		if ok {
			_, err := strconv.ParseFloat(n.String(), t.Bits())
			ok = err == nil
		}
		return ok || mismatch(r, path, "a number", value)
	}
	return true // left to encoding/json
}

func fitsStruct(r *report, path *field.Path, m map[string]any, t reflect.Type) bool {
	known := map[string]reflect.Type{}
	jsonFields(t, known)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		ft, has := known[name]
		if !has {
			r.add(path.Child(name), "unknown field "+quote(name), fieldFix(name, known))
		}
		if !has || !fits(r, path.Child(name), m[name], ft) {
			delete(m, name)
		}
	}
	return true
}

func fitsSlice(r *report, path *field.Path, value any, t reflect.Type) bool {
	if t.Elem().Kind() == reflect.Uint8 {
		s, ok := value.(string)
		if !ok {
			return mismatch(r, path, "base64 text", value)
		}
		raw, _ := json.Marshal(s) // a string always marshals
		if err := json.Unmarshal(raw, new([]byte)); err != nil {
			r.breaks(path, "not valid base64: "+err.Error(), "")
			return false
		}
		return true
	}
	items, ok := value.([]any)
	if !ok {
		return mismatch(r, path, "a list", value)
	}
	for i, item := range items {
		if !fits(r, path.Index(i), item, t.Elem()) {
			items[i] = nil
		}
	}
	return true
}

func fitsUnmarshaler(r *report, path *field.Path, value any, t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[runtime.RawExtension]():
		_, ok := value.(map[string]any)
		return ok || mismatch(r, path, "a mapping", value)
	case reflect.TypeFor[metav1.Duration]():
		s, ok := value.(string)
		if ok {
			_, err := time.ParseDuration(s)
			ok = err == nil
		}
		return ok || mismatch(r, path, `a duration such as "10s"`, value)
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		r.breaks(path, "invalid value: "+err.Error(), "")
	}
	return err == nil
}

// jsonFields adds the JSON names of the fields of struct type t, including those of inlined
// structs.
func jsonFields(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			jsonFields(f.Type, into)
		case name == "":
			into[f.Name] = f.Type
		default:
			into[name] = f.Type
		}
	}
}

func fieldFix(name string, known map[string]reflect.Type) string {
	names := slices.Collect(maps.Keys(known))
	if near, ok := nearest.Of(name, names); ok {
		return "did you mean " + quote(near) + "?"
	}
	return "the fields here are " + list(names)
}

func mismatch(r *report, path *field.Path, want string, value any) bool {
	r.breaks(path, "expected "+want+", found "+kindOf(value), "")
	return false
}

// kindOf describes a JSON value for a message, with the value if it is short.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + v.String()
	case string:
		if len(v) > 40 {
			return "text"
		}
		return "the string " + quote(v)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
