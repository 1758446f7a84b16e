package cel

import (
	"slices"
)

// unary is ! or −, or an even number of them, which only says of which type the value must be.
func (c *compiler) unary(e *expression) *node {
	arg := c.node(e.args[0])
	if c.err != nil {
		return arg
	}
	sign, kind := e.text[:1], arg.typ.Kind
	if sign == "!" && kind != Bool || sign == "-" && kind != Int && kind != Double {
		return c.refuse(e.at, "there is no "+sign+" of "+arg.typ.String())
	}
	if len(e.text) == 2 {
		return arg
	}
	n := &node{op: opNot, typ: arg.typ, args: []*node{arg}, at: e.at, operands: kind}
	if sign == "-" {
		n.op, n.fail = opNegative, c.failure(e.at, "the int is beyond 64 bits")
	}
	return c.made(n)
}

// arithmetic returns the operations of the operators that calculate.
func arithmetic() map[string]op {
	return map[string]op{"+": opAdd, "-": opSubtract, "*": opMultiply, "/": opDivide, "%": opRemainder}
}

// binary is an operator between two values.
func (c *compiler) binary(e *expression) *node {
	args := c.nodes(e.args)
	if c.err != nil {
		return args[0]
	}
	a, b := args[0].typ, args[1].typ
	wrong := func() *node {
		text := "there is no " + e.text + " between " + a.String() + " and " + b.String()
		if a.Kind == Int && b.Kind == Double || a.Kind == Double && b.Kind == Int {
			text += "; convert one with int() or double()"
		}
		return c.refuse(e.at, text)
	}
	n := &node{typ: Of(Bool), args: args, at: e.at, operands: a.Kind}
	typ, same := common(a, b)
	switch e.text {
	case "&&", "||":
		if n.op = opAnd; e.text == "||" {
			n.op = opOr
		}
		if a.Kind != Bool || b.Kind != Bool {
			return wrong()
		}
	case "==", "!=":
		if n.op = opEqual; e.text == "!=" {
			n.op = opUnequal
		}
		if !same {
			return wrong()
		}
	case "<", "<=", ">", ">=":
		n.op = map[string]op{"<": opLess, "<=": opLessEqual, ">": opMore, ">=": opMoreEqual}[e.text]
		if !same || a.Kind != Int && a.Kind != Double && a.Kind != String {
			return wrong()
		}
		if a.Kind == Double {
			n.fail = c.failure(e.at, "NaN has no order")
		}
	case "in":
		return c.in(e, args, wrong)
	default:
		n.op, n.typ = arithmetic()[e.text], typ
		number := a.Kind == Int || a.Kind == Double && e.text != "%"
		if !same || !number && (e.text != "+" || a.Kind != String && a.Kind != ListOf) {
			return wrong()
		}
		n.fail = c.failure(e.at, "the int is beyond 64 bits")
		if e.text == "/" || e.text == "%" {
			n.fail.Text = "the divisor is 0, or the int is beyond 64 bits"
		}
	}
	return c.made(n)
}

// in asks whether a list has an element, or a map a key.
func (c *compiler) in(e *expression, args []*node, wrong func() *node) *node {
	a, b := args[0].typ, args[1].typ
	if b.Kind == MapOf && a.Kind == String {
		return c.entry(args[1], args[0], e.args[0].at, opHas)
	}
	if b.Kind != ListOf {
		return wrong()
	}
	if _, ok := common(a, *b.Elem); !ok {
		return wrong()
	}
	return c.made(&node{op: opIn, typ: Of(Bool), args: args, at: e.at, operands: a.Kind})
}

// function is what can be called.
type function struct {
	name string
	// method is whether it is called on a value, and function whether it is called with one.
	method, function bool
	of               []Kind // of which kinds the first argument may be
	args             int    // how many there are, the first one included
	op               op
	typ              Type
	fails            string
}

func functions() []function {
	return []function{
		{name: "size", method: true, function: true, of: []Kind{String, ListOf, MapOf}, args: 1, op: opSize, typ: Of(Int)},
		{name: "startsWith", method: true, of: []Kind{String}, args: 2, op: opStartsWith, typ: Of(Bool)},
		{name: "endsWith", method: true, of: []Kind{String}, args: 2, op: opEndsWith, typ: Of(Bool)},
		{name: "contains", method: true, of: []Kind{String}, args: 2, op: opContains, typ: Of(Bool)},
		{name: "matches", method: true, function: true, of: []Kind{String}, args: 2, op: opMatches, typ: Of(Bool)},
		{name: "int", function: true, of: []Kind{Int, Double, String}, args: 1, op: opToInt, typ: Of(Int), fails: "the value is no int of 64 bits"},
		{name: "double", function: true, of: []Kind{Int, Double, String}, args: 1, op: opToDouble, typ: Of(Double), fails: "the text is no number"},
		{name: "string", function: true, of: []Kind{Bool, Int, Double, String}, args: 1, op: opToString, typ: Of(String)},
	}
}

// elsewhere returns functions that CEL has and the subset has not.
func elsewhere() []string {
	return []string{
		"bool", "bytes", "duration", "dyn", "timestamp", "type", "uint", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
		"getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds",
	}
}

// call is a macro or a function.
func (c *compiler) call(e *expression) *node {
	method := e.shape == shapeMethod
	if !method && e.text == "has" {
		return c.has(e)
	}
	if i := slices.Index(macros(), e.text); method && i >= 0 {
		return c.macro(e, opExists+op(i))
	}
	if method && e.args[0].shape == shapeName && e.args[0].text == "math" && !c.isLocal("math") {
		return c.math(e)
	}
	all := functions()
	i := slices.IndexFunc(all, func(f function) bool { return f.name == e.text && (f.method && method || f.function && !method) })
	if i < 0 {
		return c.refuse(e.at, noFunction(e.text, method))
	}
	f := &all[i]
	args := c.nodes(e.args)
	if c.err != nil {
		return args[0]
	}
	if len(args) != f.args {
		return c.refuse(e.at, "the function "+f.name+" has another number of arguments")
	}
	if !slices.Contains(f.of, args[0].typ.Kind) {
		return c.refuse(e.at, "there is no "+f.name+" of "+args[0].typ.String())
	}
	n := &node{op: f.op, typ: f.typ, args: args, at: e.at, operands: args[0].typ.Kind, fail: c.failure(e.at, f.fails)}
	if f.args == 2 && args[1].typ.Kind != String {
		return c.refuse(e.args[1].at, "the argument is of type "+args[1].typ.String()+", and must be string")
	}
	if f.op == opMatches {
		if args[1].op != opConstant {
			return c.refuse(e.args[1].at, "in the subset the expression of matches is a constant")
		}
		m, err := newMatcher(args[1].value.text)
		if err != nil {
			return c.refuse(e.args[1].at, err.Error())
		}
		n.matcher = m
	}
	return c.made(n)
}

func noFunction(name string, method bool) string {
	var names []string
	for _, f := range functions() {
		switch {
		case f.name == name && method:
			return name + " is a function: write " + name + "(…)"
		case f.name == name:
			return name + " belongs to a value: write TEXT." + name + "(…)"
		case f.method && method || f.function && !method:
			names = append(names, f.name)
		}
	}
	if method {
		names = append(names, macros()...)
	}
	if slices.Contains(elsewhere(), name) {
		return "CEL has " + name + ", and the subset of this plugin has not"
	}
	return "there is no function " + name + hint(name, names)
}

// math is a function of the extension of CEL with this name.
func (c *compiler) math(e *expression) *node {
	n := &node{op: opGreatest, at: e.at, args: c.nodes(e.args[1:])}
	switch e.text {
	case "greatest":
	case "least":
		n.op = opLeast
	default:
		return c.refuse(e.at, "the subset has no math."+e.text+"; there are math.greatest and math.least")
	}
	if c.err == nil && len(n.args) < 2 {
		return c.refuse(e.at, "math."+e.text+" needs two arguments or more")
	}
	for i, a := range n.args {
		if a.typ.Kind != Int && a.typ.Kind != Double || a.typ.Kind != n.args[0].typ.Kind {
			return c.refuse(e.args[i+1].at, "the arguments of math."+e.text+" must be ints, or all doubles; this one is of type "+a.typ.String())
		}
	}
	if c.err != nil {
		return n
	}
	if n.typ, n.operands = n.args[0].typ, n.args[0].typ.Kind; n.operands == Double {
		n.fail = c.failure(e.at, "NaN has no order")
	}
	return c.made(n)
}

// has asks whether a map has an entry.
func (c *compiler) has(e *expression) *node {
	if len(e.args) != 1 || e.args[0].shape != shapeSelect {
		return c.refuse(e.at, "has needs one field, as in has(node.labels.disk); for other keys write \"…\" in node.labels")
	}
	field := e.args[0]
	if c.variable(field) >= 0 {
		return c.refuse(field.at, field.args[0].text+"."+field.text+" is always there; has is for entries of maps")
	}
	of := c.node(field.args[0])
	if c.err != nil {
		return of
	}
	if of.typ.Kind != MapOf {
		return c.refuse(field.at, "has is for entries of maps, and this is of type "+of.typ.String())
	}
	return c.entry(of, &node{op: opConstant, typ: Of(String), value: StringValue(field.text), at: field.at}, field.at, opHas)
}

// macros returns those about elements, in the order of their operations.
func macros() []string { return []string{"exists", "all", "exists_one", "filter", "map"} }

const maxLocals = 8

// macro is an expression about each element of a list, or each key of a map.
func (c *compiler) macro(e *expression, what op) *node {
	switch {
	case len(e.args) == 4 && e.text == "map":
		return c.refuse(e.at, "the subset has map only with two arguments; use filter, too")
	case len(e.args) != 3:
		return c.refuse(e.at, e.text+" needs a name and an expression")
	case e.args[1].shape != shapeName:
		return c.refuse(e.args[1].at, e.text+" needs a name for the elements")
	case len(c.locals) == maxLocals:
		return c.refuse(e.at, "more than 8 macros are in one another")
	}
	of := c.node(e.args[0])
	if c.err != nil {
		return of
	}
	elem := Of(String)
	switch of.typ.Kind {
	case ListOf:
		elem = *of.typ.Elem
	case MapOf:
	default:
		return c.refuse(e.at, "there is no "+e.text+" of "+of.typ.String())
	}
	number := len(c.locals)
	c.locals = append(c.locals, local{e.args[1].text, elem})
	body := c.node(e.args[2])
	c.locals = c.locals[:number]
	if c.err != nil {
		return body
	}
	n := &node{op: what, typ: Of(Bool), args: []*node{of, body}, number: number, at: e.at}
	switch {
	case what == opMapped:
		n.typ = List(body.typ)
	case body.typ.Kind != Bool:
		return c.refuse(e.args[2].at, "the expression of "+e.text+" is of type "+body.typ.String()+", and must be bool")
	case what == opFiltered:
		n.typ = List(elem)
	}
	return c.made(n)
}
