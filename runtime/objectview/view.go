// Package objectview reads what plugins declare of objects of the API (SPEC.md, 4.22 and 9.16) out of these objects, and says to
// which node or namespace they belong.
package objectview

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Limits of what a view has of an object (ABI-4.22).
const (
	maxValues = 65_536
	maxText   = 4_096 // bytes
)

// View reads the columns that a plugin declares of a kind of objects.
type View struct {
	wire.ObjectView
	owner   fieldpath.Path
	columns []column
}

type column struct {
	*wire.ObjectColumn
	lists []fieldpath.Path
	value fieldpath.Path // from the object, or from an element of the last list
}

// New returns the reader of a view of a valid manifest.
func New(v *wire.ObjectView) *View {
	out := &View{ObjectView: *v}
	out.owner, _ = fieldpath.Parse(v.Owner()) // validated before
	for i := range out.Columns {
		c := column{ObjectColumn: &out.Columns[i]}
		c.lists, c.value = c.Path.Lists()
		out.columns = append(out.columns, c)
	}
	return out
}

// Of reports whether the view is of objects of a kind, and whether it is but for the version. The name of the resource is guessed from
// the kind, as there is no server to ask.
func (v *View) Of(kind schema.GroupVersionKind) (is, otherwise bool) {
	r, _ := fieldpath.ParseResource(v.Resource) // validated before
	same := kind.Group == r.Group && plural(kind.Kind) == r.Plural
	return same && kind.Version == r.Version, same && kind.Version != r.Version
}

// plural returns the name of the resource of a kind, by the rules of English that controller-gen has.
func plural(kind string) string {
	name := strings.ToLower(kind)
	stem, y := strings.CutSuffix(name, "y")
	switch {
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		return stem + "ies"
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	}
	return name + "s"
}

// Paths returns where the view looks for texts and numbers in objects.
func (v *View) Paths() (out []fieldpath.Path) {
	for i := range v.columns {
		if c := &v.columns[i]; !c.Key && !c.Parent {
			out = append(out, c.Path)
		}
	}
	return append(out, v.owner)
}

// Object is what is kept of an object.
type Object struct {
	// Owner is the name of the node or namespace to which it belongs; empty for none.
	Owner string
	// Name is NAMESPACE/NAME, and Created when the object was created.
	Name    string
	Created time.Time
	// Columns has the values; nil if there are too many.
	Columns *state.Columns
	// Lost says what was left out: the first value that is of another type, and why; nil if nothing was.
	Lost error
}

// Read returns what the view has of an object, as encoding/json or client-go's unstructured objects have it. It keeps nothing of the
// object itself.
func (v *View) Read(object map[string]any) *Object {
	meta, _ := object["metadata"].(map[string]any)
	text := func(field string) string {
		value, _ := meta[field].(string)
		return strings.Clone(value)
	}
	o := &Object{Name: text("namespace") + "/" + text("name"), Columns: &state.Columns{}}
	o.Created, _ = time.Parse(time.RFC3339, text("creationTimestamp"))
	if name, ok := v.owner.Value(object); ok {
		owner, _ := name.(string)
		o.Owner = strings.Clone(owner)
	}
	r := reading{object: o}
	for i := range v.columns {
		r.column = &v.columns[i]
		r.numbers, r.texts = nil, nil
		r.descend(object, 0, "", 0)
		o.Columns.Numbers, o.Columns.Texts = append(o.Columns.Numbers, r.numbers), append(o.Columns.Texts, r.texts)
		if r.values > maxValues {
			o.Columns = nil
			o.Lost = fmt.Errorf("the object has more than %d values for the plugin", maxValues)
			return o
		}
	}
	return o
}

// reading reads a column.
type reading struct {
	object  *Object
	column  *column
	numbers []int64
	texts   []*string
	values  int // of all columns
	parents int // elements of the outer list so far
}

// descend reads the values below an element of the lists at a depth, which has a key and the place of its outer element.
func (r *reading) descend(at any, depth int, key string, parent int) {
	c := r.column
	if depth == len(c.lists) {
		r.leaf(at, key, parent)
		return
	}
	if depth == 0 {
		r.parents = 0
	}
	c.lists[depth].Each(at, func(key string, element any) bool {
		above := 0
		if depth == len(c.lists)-2 {
			above = r.parents
			r.parents++
		} else if depth == len(c.lists)-1 {
			above = parent
		}
		r.descend(element, depth+1, key, above)
		return r.values <= maxValues
	})
}

func (r *reading) leaf(at any, key string, parent int) {
	c := r.column
	switch {
	case c.Key:
		key = strings.Clone(key)
		r.text(&key)
	case c.Parent:
		r.number(int64(parent), nil)
	default:
		value, ok := c.value.Value(at)
		switch {
		case !ok && len(c.lists) == 0:
		case c.Text():
			r.text(r.textOf(value, ok))
		case !ok:
			r.number(abi.NoNumber, nil)
		default:
			r.number(number(c.Type, value))
		}
	}
}

func (r *reading) lose(why error) {
	if r.object.Lost == nil {
		r.object.Lost = fmt.Errorf("%s: %w", r.column.Path, why)
	}
}

func (r *reading) textOf(value any, ok bool) *string {
	text, is := value.(string)
	switch {
	case !ok:
		return nil
	case !is:
		r.lose(fmt.Errorf("%s is not a string", describe(value)))
		return nil
	case len(text) > maxText:
		r.lose(fmt.Errorf("the text has %d bytes, at most %d are read", len(text), maxText))
		return nil
	}
	text = strings.Clone(text)
	return &text
}

// text adds a text. One value that is none is no value.
func (r *reading) text(text *string) {
	if text == nil && len(r.column.lists) == 0 {
		return
	}
	r.values++
	r.texts = append(r.texts, text)
}

func (r *reading) number(n int64, err error) {
	if err != nil {
		if r.lose(err); len(r.column.lists) == 0 {
			return
		}
		n = abi.NoNumber
	}
	r.values++
	r.numbers = append(r.numbers, n)
}

// number reads a value as a type of columns that is no string.
func number(kind string, value any) (int64, error) {
	if n, ok := value.(json.Number); ok { // of a decoder that keeps numbers as they are
		if whole, err := n.Int64(); err == nil {
			value = whole
		} else if f, err := n.Float64(); err == nil || math.IsInf(f, 0) {
			value = f
		}
	}
	switch kind {
	case wire.ObjectBoolean:
		if is, ok := value.(bool); ok {
			if is {
				return 1, nil
			}
			return 0, nil
		}
	case wire.ObjectTime:
		if text, ok := value.(string); ok {
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				return at.Unix(), nil
			}
		}
	case wire.ObjectInteger:
		switch value := value.(type) {
		case int64:
			return max(value, -math.MaxInt64), nil
		case float64:
			if value == math.Trunc(value) {
				return nearest(value), nil
			}
		}
	case wire.ObjectQuantity:
		switch value := value.(type) {
		case int64:
			return saturate(value), nil
		case float64:
			return nearest(math.Ceil(float64(value * 1000))), nil
		case string:
			if q, err := resource.ParseQuantity(plain.Line(value, 64)); err == nil {
				return max(quantity.Milli(q), -math.MaxInt64), nil // the least one is that of no number
			}
		}
	}
	return 0, fmt.Errorf("%s is not a value of type %s", describe(value), kind)
}

// saturate returns thousandths of a whole number.
func saturate(n int64) int64 {
	if n > math.MaxInt64/1000 {
		return math.MaxInt64
	}
	return max(n, -(math.MaxInt64/1000)) * 1000
}

// nearest returns the int64 that is the nearest to a whole number. That of no number is not among them.
func nearest(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= -math.MaxInt64:
		return -math.MaxInt64
	}
	return int64(f)
}

// describe names a value in a message.
func describe(value any) string {
	switch value := value.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case string:
		return plain.Quote(value, 64)
	case int64:
		return strconv.FormatInt(value, 10)
	}
	return plain.Line(fmt.Sprint(value), 64)
}
