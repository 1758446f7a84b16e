package schema

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/plain"
)

// An instance, the value that a schema is applied to, is nil, a bool, a string, an int64,
// uint64 or float64, a []any or an *object.

// object is a JSON object with sorted names, so that a check always takes the same steps.
type object struct {
	names  []string
	values []any
}

// has reports whether there is a field.
func (o *object) has(name string) bool {
	_, ok := slices.BinarySearch(o.names, name)
	return ok
}

// newInstance converts a value of Parse to an instance.
func newInstance(value any) (any, *Problem) {
	var at path
	out, bad := at.instance(value)
	if bad != "" {
		return nil, &Problem{Path: at.String(), Detail: bad}
	}
	return out, nil
}

// instance converts a value. After a mistake the path leads to it.
func (p *path) instance(value any) (out any, bad string) {
	switch v := value.(type) {
	case json.Number:
		return parseNumber(v.String())
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			p.push(step{index: i})
			if list[i], bad = p.instance(item); bad != "" {
				return nil, bad
			}
			p.pop()
		}
		return list, ""
	case map[string]any:
		o := &object{names: keys(v), values: make([]any, len(v))}
		for i, name := range o.names {
			p.push(step{name: name, field: true})
			if o.values[i], bad = p.instance(v[name]); bad != "" {
				return nil, bad
			}
			p.pop()
		}
		return o, ""
	}
	return value, ""
}

// parseNumber reads a JSON number: as int64 or uint64 if it is whole and fits, otherwise as the
// nearest float64. A number that fits int64 always becomes an int64.
func parseNumber(text string) (any, string) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, ""
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, plain.Cut(text, 40) + " is out of range"
	}
	if n == math.Trunc(n) && math.Abs(n) < 1<<63 {
		return int64(n), ""
	}
	return n, ""
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, uint64, float64:
		return true
	}
	return false
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	f, _ := v.(float64)
	return f
}

// compareNumbers compares exactly: 64-bit integers are not rounded.
func compareNumbers(a, b any) int {
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, y)
		case uint64: // exceeds int64
			return -1
		case float64: // of more than 63 bits, or not whole
			if math.Abs(y) >= 1<<63 {
				return cmp.Compare(0, y)
			}
			if n := cmp.Compare(x, int64(y)); n != 0 {
				return n
			}
			return cmp.Compare(0, y-math.Trunc(y))
		}
	case uint64:
		switch y := b.(type) {
		case uint64:
			return cmp.Compare(x, y)
		case float64:
			if y < 1<<63 || y >= 1<<64 {
				return cmp.Compare(0, y-(1<<63)) // y is below or above all values that are uint64 here
			}
			return cmp.Compare(x, uint64(y))
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	}
	return -compareNumbers(b, a)
}

// isMultiple reports whether n is a multiple of m > 0. It is exact for integers. For floats it
// goes by the rounded quotient, so that 0.0075 is a multiple of 0.0001.
func isMultiple(n, m any) bool {
	x, ok1 := n.(int64)
	y, ok2 := m.(int64)
	if ok1 && ok2 {
		return x%y == 0
	}
	f, g := toFloat(n), toFloat(m)
	quotient := f / g
	return quotient == math.Trunc(quotient) && !math.IsInf(quotient, 0) || math.Mod(f, g) == 0
}

// typeOf returns JSON Schema's name of a value's type.
func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case *object:
		return "object"
	case float64:
		if v != math.Trunc(v) {
			return "number"
		}
	}
	return "integer" // 1.0 too
}

// compare orders any two values and returns 0 if they are equal. It spends steps on what it
// reads.
func (c *checker) compare(a, b any) int {
	c.spend(2)
	if isNumber(a) && isNumber(b) {
		return compareNumbers(a, b)
	}
	if s, t := typeOf(a), typeOf(b); s != t {
		return strings.Compare(s, t)
	}
	switch x := a.(type) {
	case bool:
		y, _ := b.(bool)
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	case string:
		y, _ := b.(string)
		return c.compareTexts(x, y)
	case []any:
		y, _ := b.([]any)
		if n := cmp.Compare(len(x), len(y)); n != 0 {
			return n
		}
		return c.compareLists(x, y)
	case *object:
		y, _ := b.(*object)
		if n := cmp.Compare(len(x.names), len(y.names)); n != 0 {
			return n
		}
		for i, name := range x.names {
			c.spend(1)
			if n := c.compareTexts(name, y.names[i]); n != 0 {
				return n
			}
		}
		return c.compareLists(x.values, y.values)
	}
	return 0 // both are null
}

func (c *checker) compareTexts(a, b string) int {
	c.spend(min(len(a), len(b)) / 16)
	return strings.Compare(a, b)
}

// compareLists compares lists of equal length.
func (c *checker) compareLists(a, b []any) int {
	for i := range a {
		if n := c.compare(a[i], b[i]); n != 0 {
			return n
		}
	}
	return 0
}

// equal reports whether compare finds no difference.
func (c *checker) equal(a, b any) bool { return c.compare(a, b) == 0 }
