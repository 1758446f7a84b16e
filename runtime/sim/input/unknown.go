package input

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// maxStrict is the maximum number of unknown and duplicate fields that the strict decoder
// reports; there may be more.
const maxStrict = 100

// unknownFields returns the paths of unknown fields; only is false if the decoder reported anything
// else. A newer cluster has more fields than the types here, and the user cannot change that. Unless
// the reading is lenient, only those under status count: elsewhere in an object, an unknown field is
// a requirement that would not be met.
func unknownFields(err error, lenient bool) (paths []string, only bool) {
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil, false
	}
	for _, one := range strict.Errors() {
		quoted, unknown := strings.CutPrefix(one.Error(), "unknown field ")
		path, err := strconv.Unquote(quoted)
		if !unknown || err != nil || !lenient && !strings.HasPrefix(path, "status.") {
			return nil, false
		}
		paths = append(paths, path)
	}
	return paths, true
}

// underStatus reports whether a field is below status.
func underStatus(path []any) bool { return len(path) > 1 && path[0] == "status" }

var listIndex = regexp.MustCompile(`\[\d+\]`)

// passOver warns of each unknown field once, at its first place, because all nodes or pods of a
// cluster have it.
func (o *Objects) passOver(objs []object) {
	type field struct{ kind, path string }
	type first struct {
		object
		path string
	}
	var firsts []first
	at, count := map[field]int{}, []int{}
	for _, obj := range objs {
		for _, path := range obj.unknown {
			f := field{kindOf(obj), listIndex.ReplaceAllString(path, "[]")}
			i, again := at[f]
			if !again {
				i = len(firsts)
				at[f] = i
				firsts, count = append(firsts, first{obj, path}), append(count, 0)
			}
			count[i]++
		}
	}
	for i, f := range firsts {
		detail := "unknown field, ignored"
		if count[i] > 1 {
			detail += fmt.Sprintf(", here and elsewhere, %d times", count[i])
		}
		if fix := fixOf(f.Object, f.path); strings.HasPrefix(fix, "did you mean") {
			detail += " (" + fix + ")"
		}
		o.warn(f.object, f.path, detail)
	}
}

// fixOf says what to do about an unknown field.
func fixOf(obj any, path string) string {
	steps := splitPath(path)
	t := reflect.TypeOf(obj)
	for _, step := range steps[:len(steps)-1] {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			next, ok := strictyaml.Fields(t)[step]
			if !ok {
				return ""
			}
			t = next
		case reflect.Slice, reflect.Map:
			t = t.Elem()
		default:
			return ""
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	return strictyaml.FieldFix(steps[len(steps)-1], strictyaml.Fields(t))
}
