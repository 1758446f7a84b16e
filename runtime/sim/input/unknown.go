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

// ignored appends a warning for each unknown field, at its first place only, because all nodes or pods of a cluster have it.
func ignored(to []Warning, objs []object) []Warning {
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
		path, detail, fix, line := f.path, "unknown field, ignored", "", f.place.first
		if len(to) < MaxErrors { // because this parses the text again
			if m := f.mismatch(f.path); m != nil {
				path, fix, line = strictyaml.PathOf(m.Path), m.Fix, f.place.line(m.Node)
			}
		}
		if count[i] > 1 {
			detail += fmt.Sprintf(", here and elsewhere, %d times", count[i])
		}
		if strings.HasPrefix(fix, "did you mean") {
			detail += " (" + fix + ")"
		}
		to = append(to, f.place.warning(line, path, detail))
	}
	return to
}

// mismatch finds an unknown field by the path that the strict decoder gives it, in which a key with a dot looks like two; nil if
// it is not found.
func (o *object) mismatch(path string) *strictyaml.Mismatch {
	n := o.place.node()
	if n == nil {
		return nil
	}
	for _, m := range strictyaml.Mismatches(n, reflect.TypeOf(o.Object), nil) {
		if m.Unknown && strictyaml.Dotted(m.Path) == path {
			return &m
		}
	}
	return nil
}
