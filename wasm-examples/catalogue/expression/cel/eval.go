package cel

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// op is what a node does.
type op uint8

const (
	opConstant op = iota
	opVariable
	opEntry    // of the variable number, the key key
	opHasEntry // likewise
	opLocal
	opOnce // args[0], whose value stays for the pod
	opField
	opIndex
	opLookup
	opHas
	opNot
	opNegative
	opAnd
	opOr
	opChoice
	opEqual
	opUnequal
	opLess
	opLessEqual
	opMore
	opMoreEqual
	opAdd
	opSubtract
	opMultiply
	opDivide
	opRemainder
	opIn
	opSize
	opStartsWith
	opEndsWith
	opContains
	opMatches
	opToInt
	opToDouble
	opToString
	opGreatest
	opLeast
	opList
	opMap
	opExists
	opAll
	opExistsOne
	opFiltered
	opMapped
)

// run is an evaluation.
type run struct {
	source Source
	fail   *Failure // why there is no value
	slots  []slot
	locals [maxLocals]Value
}

// slot has the value of a part that depends on the pod alone.
type slot struct {
	known bool
	value Value
	fail  *Failure
}

// Reset forgets what was known of the pod. What the source returned before may be gone by then.
func (p *Program) Reset() { clear(p.run.slots) }

// Eval returns the value of the expression, or why it has none.
func (p *Program) Eval(source Source) (Value, *Failure) {
	p.run.source, p.run.fail = source, nil
	v := p.run.eval(p.root)
	return v, p.run.fail
}

// eval returns the value of a node. If r.fail is set then, there is none.
func (r *run) eval(n *node) Value {
	switch n.op {
	case opConstant:
		return n.value
	case opVariable:
		return r.source.Value(n.number)
	case opEntry:
		v, ok := r.source.Entry(n.number, n.key)
		if !ok {
			r.fail = n.fail
		}
		return v
	case opHasEntry:
		_, ok := r.source.Entry(n.number, n.key)
		return BoolValue(ok)
	case opLocal:
		return r.locals[n.number]
	case opOnce:
		return r.once(n)
	case opAnd:
		return r.either(n, false)
	case opOr:
		return r.either(n, true)
	case opChoice:
		v := r.eval(n.args[0])
		switch {
		case r.fail != nil:
			return v
		case v.Bool():
			return r.eval(n.args[1])
		}
		return r.eval(n.args[2])
	case opExists, opAll, opExistsOne, opFiltered, opMapped:
		return r.macro(n)
	case opList, opMap:
		return r.several(n)
	case opGreatest, opLeast:
		return r.extreme(n)
	}
	a := r.eval(n.args[0])
	if r.fail != nil {
		return a
	}
	if len(n.args) == 1 {
		return r.ofOne(n, a)
	}
	b := r.eval(n.args[1])
	if r.fail != nil {
		return b
	}
	return r.ofTwo(n, a, b)
}

// once returns what is known of the pod, and evaluates it before.
func (r *run) once(n *node) Value {
	s := &r.slots[n.number]
	if !s.known {
		s.value = r.eval(n.args[0])
		s.fail, s.known = r.fail, true
	}
	r.fail = s.fail
	return s.value
}

// either is && or ||: a value that decides does so although the other one fails.
func (r *run) either(n *node, decides bool) Value {
	a := r.eval(n.args[0])
	failed := r.fail
	if failed == nil && a.Bool() == decides {
		return a
	}
	r.fail = nil
	b := r.eval(n.args[1])
	switch {
	case r.fail == nil && b.Bool() == decides:
	case failed != nil:
		r.fail = failed
	}
	return b
}

// ofOne is an operation on one value.
func (r *run) ofOne(n *node, a Value) Value {
	switch n.op {
	case opField:
		return a.all.Values[n.number]
	case opNot:
		return BoolValue(!a.Bool())
	case opNegative:
		if n.operands == Double {
			return doubleValue(-a.Double())
		}
		if a.Int() == math.MinInt64 {
			r.fail = n.fail
		}
		return IntValue(-a.Int())
	case opSize:
		if n.operands == String {
			return IntValue(int64(utf8.RuneCountInString(a.text)))
		}
		return IntValue(int64(len(a.all.Values)))
	}
	return r.convert(n, a)
}

// ofTwo is an operation on two values.
func (r *run) ofTwo(n *node, a, b Value) Value {
	switch n.op {
	case opIndex:
		if i := b.Int(); i >= 0 && i < int64(len(a.all.Values)) {
			return a.all.Values[i]
		}
		r.fail = n.fail
		return Value{}
	case opLookup:
		v, ok := a.all.find(b.text)
		if !ok {
			r.fail = n.fail
		}
		return v
	case opHas:
		_, ok := a.all.find(b.text)
		return BoolValue(ok)
	case opEqual:
		return BoolValue(equal(n.operands, &n.args[0].typ, a, b))
	case opUnequal:
		return BoolValue(!equal(n.operands, &n.args[0].typ, a, b))
	case opIn:
		return BoolValue(slices.ContainsFunc(b.all.Values, func(e Value) bool { return equal(n.operands, &n.args[0].typ, a, e) }))
	case opStartsWith:
		return BoolValue(strings.HasPrefix(a.text, b.text))
	case opEndsWith:
		return BoolValue(strings.HasSuffix(a.text, b.text))
	case opContains:
		return BoolValue(strings.Contains(a.text, b.text))
	case opMatches:
		return BoolValue(n.matcher.MatchString(a.text))
	case opLess, opLessEqual, opMore, opMoreEqual:
		return r.compare(n, a, b)
	}
	switch n.operands {
	case Int:
		return r.ints(n, a.Int(), b.Int())
	case Double:
		return doubleValue(doubles(n.op, a.Double(), b.Double()))
	case String:
		return StringValue(a.text + b.text)
	}
	return ElementsValue(&Elements{Values: slices.Concat(a.all.Values, b.all.Values)})
}

// extreme is the greatest or the least of several numbers; NaN has no order.
func (r *run) extreme(n *node) Value {
	best := r.eval(n.args[0])
	for _, a := range n.args[1:] {
		if r.fail != nil {
			return best
		}
		v := r.eval(a)
		less, more := v.Int() < best.Int(), v.Int() > best.Int()
		if n.operands == Double {
			less, more = v.Double() < best.Double(), v.Double() > best.Double()
			if !less && !more && v.Double() != best.Double() && r.fail == nil {
				r.fail = n.fail
			}
		}
		if less && n.op == opLeast || more && n.op == opGreatest {
			best = v
		}
	}
	return best
}

// several makes a list or a map.
func (r *run) several(n *node) Value {
	e := &Elements{Values: make([]Value, 0, len(n.args))}
	for i, a := range n.args {
		v := r.eval(a)
		switch {
		case r.fail != nil:
			return v
		case n.op == opList:
			e.Values = append(e.Values, v)
		case i%2 == 0:
			e.Keys = append(e.Keys, v.text)
		default:
			e.Values = append(e.Values, v)
		}
	}
	e.sort()
	return ElementsValue(e)
}

// sort sorts a map by its keys.
func (e *Elements) sort() {
	for i := 1; i < len(e.Keys); i++ {
		for j := i; j > 0 && e.Keys[j] < e.Keys[j-1]; j-- {
			e.Keys[j], e.Keys[j-1] = e.Keys[j-1], e.Keys[j]
			e.Values[j], e.Values[j-1] = e.Values[j-1], e.Values[j]
		}
	}
}

// macro is an operation on each element of a list, or each key of a map.
func (r *run) macro(n *node) Value {
	of := r.eval(n.args[0])
	if r.fail != nil {
		return of
	}
	size := len(of.all.Values)
	var out *Elements
	if n.op == opFiltered || n.op == opMapped {
		out = &Elements{}
	}
	var failed *Failure
	hits := 0
	for i := range size {
		elem := of.all.Values[i]
		if n.args[0].typ.Kind == MapOf {
			elem = StringValue(of.all.Keys[i])
		}
		r.locals[n.number] = elem
		v := r.eval(n.args[1])
		if r.fail != nil {
			if n.op != opExists && n.op != opAll {
				return v
			}
			// An element that decides does so although another one fails.
			failed, r.fail = r.fail, nil
			continue
		}
		switch {
		case n.op == opMapped:
			out.Values = append(out.Values, v)
		case v.Bool() == (n.op == opAll):
		case n.op == opExists || n.op == opAll:
			return v
		case n.op == opFiltered:
			out.Values = append(out.Values, elem)
		default:
			hits++
		}
	}
	r.fail = failed
	switch n.op {
	case opExists, opAll:
		return BoolValue(n.op == opAll)
	case opExistsOne:
		return BoolValue(hits == 1)
	}
	return ElementsValue(out)
}
