package cel

import (
	"math"
	"regexp"
	"strconv"
)

func float(bits uint64) float64 { return math.Float64frombits(bits) }

func doubleValue(f float64) Value { return Value{bits: math.Float64bits(f)} }

// DoubleValue returns a double.
func DoubleValue(f float64) Value { return doubleValue(f) }

// matcher is a regular expression of RE2.
type matcher interface{ MatchString(string) bool }

func newMatcher(text string) (matcher, error) { return regexp.Compile(text) }

// equal reports whether two values of a type are equal.
func equal(kind Kind, typ *Type, a, b Value) bool {
	switch kind {
	case Bool, Int:
		return a.bits == b.bits
	case Double:
		return a.Double() == b.Double()
	case String:
		return a.text == b.text
	case Any:
		return true // of two lists without elements
	}
	if len(a.all.Values) != len(b.all.Values) {
		return false
	}
	for i, v := range a.all.Values {
		elem := typ.Elem
		switch kind {
		case Object:
			elem = &typ.Fields[i].Type
		case MapOf:
			if a.all.Keys[i] != b.all.Keys[i] {
				return false
			}
		}
		if !equal(elem.Kind, elem, v, b.all.Values[i]) {
			return false
		}
	}
	return true
}

// compare is an operator of order; as in cel-go, NaN has none.
func (r *run) compare(n *node, a, b Value) Value {
	var less, more bool
	switch n.operands {
	case Int:
		less, more = a.Int() < b.Int(), a.Int() > b.Int()
	case Double:
		less, more = a.Double() < b.Double(), a.Double() > b.Double()
		if a.Double() != a.Double() || b.Double() != b.Double() {
			r.fail = n.fail
		}
	default:
		less, more = a.text < b.text, a.text > b.text
	}
	switch n.op {
	case opLess:
		return BoolValue(less)
	case opLessEqual:
		return BoolValue(!more)
	case opMore:
		return BoolValue(more)
	}
	return BoolValue(!less)
}

// ints calculates with ints; a result beyond 64 bits fails.
func (r *run) ints(n *node, a, b int64) Value {
	var c int64
	var ok bool
	switch n.op {
	case opAdd:
		c = a + b
		ok = (c > a) == (b > 0)
	case opSubtract:
		c = a - b
		ok = (c < a) == (b > 0)
	case opMultiply:
		c = a * b
		ok = a == 0 || c/a == b && (a != -1 || b != math.MinInt64)
	default:
		if ok = b != 0 && (a != math.MinInt64 || b != -1); !ok {
			break
		}
		if c = a / b; n.op == opRemainder {
			c = a % b
		}
	}
	if !ok {
		r.fail = n.fail
	}
	return IntValue(c)
}

// doubles calculates with doubles.
func doubles(o op, a, b float64) float64 {
	switch o {
	case opAdd:
		return a + b
	case opSubtract:
		return a - b
	case opMultiply:
		return a * b
	}
	return a / b
}

// convert makes a value of another type.
func (r *run) convert(n *node, a Value) Value {
	var err error
	switch n.op {
	case opToInt:
		switch n.operands {
		case Double:
			// As in CEL, the largest and the least int are beyond what a double converts to.
			if f := a.Double(); !(f > math.MinInt64 && f < math.MaxInt64) {
				r.fail = n.fail
				return a
			}
			return IntValue(int64(a.Double()))
		case String:
			i := int64(0)
			i, err = strconv.ParseInt(a.text, 10, 64)
			a = IntValue(i)
		}
	case opToDouble:
		switch n.operands {
		case Int:
			return doubleValue(float64(a.Int()))
		case String:
			f := 0.0
			f, err = strconv.ParseFloat(a.text, 64)
			a = doubleValue(f)
		}
	default:
		switch n.operands {
		case Bool:
			return StringValue(strconv.FormatBool(a.Bool()))
		case Int:
			return StringValue(strconv.FormatInt(a.Int(), 10))
		case Double:
			return StringValue(strconv.FormatFloat(a.Double(), 'g', -1, 64))
		}
	}
	if err != nil {
		r.fail = n.fail
	}
	return a
}
