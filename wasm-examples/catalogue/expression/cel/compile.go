package cel

import (
	"slices"
	"strconv"
	"strings"
)

// Program is a compiled expression. It serves one evaluation at a time.
type Program struct {
	root  *node
	run   run
	reads []int // the numbers of the variables that it reads
}

// node is an expression with its type.
type node struct {
	op   op
	typ  Type
	args []*node

	value    Value // of a constant
	number   int   // of a variable, a field, a local variable or a slot
	key      int   // of an entry
	matcher  matcher
	fail     *Failure
	node     bool   // whether a variable of the node is in it
	pod      bool   // whether a variable of the pod is in it
	locals   uint32 // the local variables in it that are none of its own, a bit each
	operands Kind   // of what is compared or calculated
	at       int
}

// compiler makes nodes of expressions.
type compiler struct {
	text      string
	variables []Variable
	locals    []local // of the macros around
	reads     []int
	slots     int
	err       *Error
}

// local is the variable of a macro.
type local struct {
	name string
	typ  Type
}

// Compile returns the program of an expression whose value has the wanted type; Any stands for an int or a double.
func Compile(text string, variables []Variable, want Type) (*Program, *Error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	c := &compiler{text: text, variables: variables}
	root := c.node(parsed)
	if c.err == nil {
		_, ok := common(root.typ, want)
		number := root.typ.Kind == Int || root.typ.Kind == Double
		switch {
		case want.Kind == Any && !number:
			c.refuse(parsed.at, "the expression is of type "+root.typ.String()+", and must be int or double")
		case !ok:
			c.refuse(parsed.at, "the expression is of type "+root.typ.String()+", and must be "+want.String())
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	p := &Program{reads: c.reads}
	p.root = c.once(root)
	p.run.slots = make([]slot, c.slots)
	return p, nil
}

// Reads reports whether the expression reads a variable.
func (p *Program) Reads(variable int) bool { return slices.Contains(p.reads, variable) }

// Failures returns everything that Eval can return.
func (p *Program) Failures() (all []*Failure) {
	var visit func(*node)
	visit = func(n *node) {
		if n.fail != nil && n.fail.Text != "" {
			all = append(all, n.fail)
		}
		for _, a := range n.args {
			visit(a)
		}
	}
	visit(p.root)
	return all
}

// Type returns the type of the value.
func (p *Program) Type() Type { return p.root.typ }

// OfNode reports whether the value can be another one for each node.
func (p *Program) OfNode() bool { return p.root.node }

func (c *compiler) refuse(at int, text string) *node {
	if c.err == nil {
		c.err = &Error{place(c.text, at), text}
	}
	return &node{op: opConstant}
}

// made completes a node whose arguments are there: it evaluates what is constant.
func (c *compiler) made(n *node) *node {
	if c.err != nil {
		return n
	}
	for _, a := range n.args {
		n.node, n.pod, n.locals = n.node || a.node, n.pod || a.pod, n.locals|a.locals
	}
	if n.op >= opExists && n.op <= opMapped {
		n.locals &^= 1 << n.number
	}
	if n.op == opConstant || n.node || n.pod || n.locals != 0 || n.op == opVariable || n.op == opEntry || n.op == opLocal {
		return n
	}
	r := run{}
	if v := r.eval(n); r.fail == nil {
		return &node{op: opConstant, typ: n.typ, value: v, at: n.at}
	}
	return n
}

// once gives each largest part that depends on the pod alone a slot, in which its value stays for all nodes.
func (c *compiler) once(n *node) *node {
	if n.op == opConstant || n.op == opVariable && !n.node && !n.pod {
		return n
	}
	if !n.node && n.locals == 0 && n.op != opLocal {
		c.slots++
		return &node{op: opOnce, typ: n.typ, args: []*node{n}, number: c.slots - 1, pod: n.pod}
	}
	for i, a := range n.args {
		n.args[i] = c.once(a)
	}
	return n
}

// node returns the node of an expression.
func (c *compiler) node(e *expression) *node {
	if c.err != nil {
		return &node{op: opConstant}
	}
	switch e.shape {
	case shapeInt:
		return &node{op: opConstant, typ: Of(Int), value: IntValue(e.n), at: e.at}
	case shapeDouble:
		return &node{op: opConstant, typ: Of(Double), value: doubleValue(e.f), at: e.at}
	case shapeString:
		return &node{op: opConstant, typ: Of(String), value: StringValue(e.text), at: e.at}
	case shapeBool:
		return &node{op: opConstant, typ: Of(Bool), value: BoolValue(e.n != 0), at: e.at}
	case shapeName:
		return c.name(e)
	case shapeSelect:
		return c.field(e)
	case shapeIndex:
		return c.index(e)
	case shapeCall, shapeMethod:
		return c.call(e)
	case shapeUnary:
		return c.unary(e)
	case shapeBinary:
		return c.binary(e)
	case shapeChoice:
		return c.choice(e)
	case shapeList:
		return c.list(e)
	}
	return c.mapping(e)
}

// nodes returns the nodes of expressions.
func (c *compiler) nodes(all []*expression) []*node {
	nodes := make([]*node, 0, len(all))
	for _, e := range all {
		nodes = append(nodes, c.node(e))
	}
	return nodes
}

// name is a local variable: other variables have two parts.
func (c *compiler) name(e *expression) *node {
	for i, l := range slices.Backward(c.locals) {
		if l.name == e.text {
			return &node{op: opLocal, typ: l.typ, number: i, locals: 1 << i, at: e.at}
		}
	}
	var names []string
	for _, l := range c.locals {
		names = append(names, l.name)
	}
	for _, v := range c.variables {
		group, _, _ := strings.Cut(v.Name, ".")
		if group == e.text {
			return c.refuse(e.at, e.text+" is no value; write a field of it, such as "+v.Name)
		}
		if !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	if slices.Contains([]string{"int", "uint", "double", "bool", "string", "bytes", "list", "map", "type", "null_type", "dyn"}, e.text) {
		return c.refuse(e.at, "the subset has no types as values, such as "+e.text)
	}
	return c.refuse(e.at, "there is no variable "+e.text+meant(e.text, names))
}

// variable returns the number of the variable that a field is; −1 if it is none.
func (c *compiler) variable(e *expression) int {
	if e.shape != shapeSelect || e.args[0].shape != shapeName || c.isLocal(e.args[0].text) {
		return -1
	}
	group := e.args[0].text
	return slices.IndexFunc(c.variables, func(v Variable) bool {
		return len(v.Name) == len(group)+1+len(e.text) && strings.HasPrefix(v.Name, group) && strings.HasSuffix(v.Name, e.text)
	})
}

func (c *compiler) isLocal(name string) bool {
	return slices.ContainsFunc(c.locals, func(l local) bool { return l.name == name })
}

// field is a variable, a field of an object, or an entry of a map.
func (c *compiler) field(e *expression) *node {
	if i := c.variable(e); i >= 0 {
		v := &c.variables[i]
		if !slices.Contains(c.reads, i) {
			c.reads = append(c.reads, i)
		}
		return c.made(&node{op: opVariable, typ: v.Type, number: i, node: v.Node, pod: !v.Node, at: e.at})
	}
	if of := e.args[0]; of.shape == shapeName && !c.isLocal(of.text) {
		var fields []string
		for _, v := range c.variables {
			if field, ok := strings.CutPrefix(v.Name, of.text+"."); ok {
				fields = append(fields, field)
			}
		}
		if fields != nil {
			return c.refuse(e.at, of.text+" has no field "+e.text+hint(e.text, fields))
		}
	}
	of := c.node(e.args[0])
	if c.err != nil {
		return of
	}
	switch of.typ.Kind {
	case Object:
		var fields []string
		for i, f := range of.typ.Fields {
			if f.Name == e.text {
				return c.made(&node{op: opField, typ: f.Type, number: i, args: []*node{of}, at: e.at})
			}
			fields = append(fields, f.Name)
		}
		return c.refuse(e.at, of.typ.Name+" has no field "+e.text+hint(e.text, fields))
	case MapOf:
		return c.entry(of, &node{op: opConstant, typ: Of(String), value: StringValue(e.text), at: e.at}, e.at, opLookup)
	}
	return c.refuse(e.at, "a value of type "+of.typ.String()+" has no field "+e.text)
}

// hint says which name was meant, or all that there are.
func hint(name string, names []string) string {
	if m := meant(name, names); m != "" {
		return m
	}
	return "; there are " + strings.Join(names, ", ")
}

// entry looks for a key of a map: its value with opLookup, whether it is there with opHas.
func (c *compiler) entry(of, key *node, at int, what op) *node {
	typ := *of.typ.Elem
	missing := c.failure(at, "there is no such key")
	if key.op == opConstant {
		missing.Text = "there is no key " + strconv.Quote(key.value.text)
	}
	n := &node{op: what, typ: typ, args: []*node{of, key}, at: at, fail: missing}
	if what == opHas {
		n.typ, n.fail = Of(Bool), nil
	}
	if of.op != opVariable || c.variables[of.number].Named == "" {
		return c.made(n)
	}
	v := &c.variables[of.number]
	if key.op != opConstant {
		return c.made(n)
	}
	n.key = slices.Index(v.Keys, key.value.text)
	if n.key < 0 {
		return c.refuse(key.at, strconv.Quote(key.value.text)+" is not in "+v.Named+", which names what "+v.Name+" has"+meant(key.value.text, v.Keys))
	}
	n.op, n.number, n.args = opEntry, of.number, nil
	if what == opHas {
		n.op = opHasEntry
	}
	n.node, n.pod = of.node, of.pod
	return n
}

func (c *compiler) failure(at int, text string) *Failure {
	return &Failure{Place: place(c.text, at), Text: text}
}

// index is an element of a list, or an entry of a map.
func (c *compiler) index(e *expression) *node {
	args := c.nodes(e.args)
	if c.err != nil {
		return args[0]
	}
	switch of, by := args[0].typ.Kind, args[1].typ; {
	case of == ListOf && by.Kind == Int:
		return c.made(&node{op: opIndex, typ: *args[0].typ.Elem, args: args, at: e.at, fail: c.failure(e.args[1].at, "the list has no such element")})
	case of == MapOf && by.Kind == String:
		return c.entry(args[0], args[1], e.args[1].at, opLookup)
	case of != ListOf && of != MapOf:
		return c.refuse(e.args[1].at, "a value of type "+args[0].typ.String()+" has no elements")
	default:
		return c.refuse(e.args[1].at, "a value of type "+args[0].typ.String()+" has no elements by "+by.String())
	}
}

// choice is a condition and two values.
func (c *compiler) choice(e *expression) *node {
	args := c.nodes(e.args)
	if c.err != nil {
		return args[0]
	}
	typ, ok := common(args[1].typ, args[2].typ)
	if args[0].typ.Kind != Bool {
		return c.refuse(e.args[0].at, "the condition is of type "+args[0].typ.String()+", and must be bool")
	}
	if !ok {
		return c.refuse(e.at, "the values are of types "+args[1].typ.String()+" and "+args[2].typ.String()+", and must have one type")
	}
	return c.made(&node{op: opChoice, typ: typ, args: args, at: e.at})
}

// list is a list of values of one type.
func (c *compiler) list(e *expression) *node {
	n := &node{op: opList, args: c.nodes(e.args), at: e.at}
	n.typ = List(c.same(n.args, e.args, 0, 1))
	return c.made(n)
}

// same returns the type of values in steps; it refuses one of another type.
func (c *compiler) same(args []*node, from []*expression, first, step int) Type {
	typ := Type{}
	for i := first; i < len(args) && c.err == nil; i += step {
		next, ok := common(typ, args[i].typ)
		if !ok {
			c.refuse(from[i].at, "the element is of type "+args[i].typ.String()+"; in the subset all have one type, here "+typ.String())
		}
		typ = next
	}
	return typ
}

// mapping is a map of keys that are different strings.
func (c *compiler) mapping(e *expression) *node {
	n := &node{op: opMap, args: c.nodes(e.args), at: e.at}
	n.typ = Map(c.same(n.args, e.args, 1, 2))
	var keys []string
	for i := 0; i < len(n.args) && c.err == nil; i += 2 {
		key := n.args[i]
		switch {
		case key.op != opConstant || key.typ.Kind != String:
			c.refuse(e.args[i].at, "in the subset keys of maps are constant strings")
		case slices.Contains(keys, key.value.text):
			c.refuse(e.args[i].at, "the map has this key twice")
		}
		keys = append(keys, key.value.text)
	}
	return c.made(n)
}
