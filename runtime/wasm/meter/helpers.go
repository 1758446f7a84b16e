package meter

import "github.com/berth-scheduler/berth/abi/wire"

// helpers are the functions that are added after those of the module: refill, enter, one for
// each import that has a price, and one for each kind of bulk instruction in the module.
type helpers struct {
	first int // index in the new module
	list  []helper
	index map[helper]int
}

// fixedHelpers are refill and enter.
const fixedHelpers = 2

func (h *helpers) refill() int { return h.first }
func (h *helpers) enter() int  { return h.first + 1 }

// find returns the index of a helper. It adds a missing helper.
func (h *helpers) find(want helper) int {
	i, there := h.index[want]
	if !there {
		i = h.first + fixedHelpers + len(h.list)
		h.index[want] = i
		h.list = append(h.list, want)
	}
	return i
}

// function is a helper's code. Its parameters are the first locals.
type function struct {
	name   string
	t      wire.FuncType
	locals []wire.ValType // besides parameters
	code   code
}

// all returns the code of all helpers in their order.
func (r *rewriter) helperFunctions() []function {
	out := []function{r.refill(), r.enter()}
	for _, h := range r.helpers.list {
		out = append(out, r.helper(h))
	}
	return out
}

// trap writes code that sets status to s and traps, unless there is 0 on the stack.
func (r *rewriter) trap(c *code, s Status) {
	c.op(opIf, empty)
	c.i32(int32(s))
	c.indexed(opGlobalSet, r.globals.status)
	c.op(opUnreachable, opEnd)
}

// refill is called with a cost when the slice is smaller. It takes the slice back, calls the
// host, and deals out a new slice that is large enough, or traps. The host is called only
// here.
func (r *rewriter) refill() function {
	f := function{name: "refill", t: signature(i32(), nil), locals: []wire.ValType{wire.ValI64}}
	c, g := &f.code, &r.globals
	const cost, deal = 0, 1
	c.indexed(opGlobalGet, g.fuel)
	c.indexed(opGlobalGet, g.slice)
	c.op(opI64ExtendI32S, opI64Add)
	c.indexed(opGlobalSet, g.fuel)
	c.i32(0)
	c.indexed(opGlobalSet, g.slice)

	c.indexed(opGlobalGet, g.fuel)
	c.indexed(opLocalGet, cost)
	c.op(opI64ExtendI32U)
	c.indexed(opLocalTee, deal)
	c.op(opI64LtS)
	r.trap(c, OutOfFuel)
	if r.shift > 0 {
		c.indexed(opCall, r.imported)
		r.trap(c, Stopped)
	}
	// deal = min(fuel, max(cost, Slice))
	larger := func() {
		c.op(opI64LtS, opIf, empty)
	}
	c.indexed(opLocalGet, deal)
	c.i64(int64(r.config.Slice))
	larger()
	c.i64(int64(r.config.Slice))
	c.indexed(opLocalSet, deal)
	c.op(opEnd)
	c.indexed(opGlobalGet, g.fuel)
	c.indexed(opLocalGet, deal)
	larger()
	c.indexed(opGlobalGet, g.fuel)
	c.indexed(opLocalSet, deal)
	c.op(opEnd)
	c.indexed(opGlobalGet, g.fuel)
	c.indexed(opLocalGet, deal)
	c.op(opI64Sub)
	c.indexed(opGlobalSet, g.fuel)
	c.indexed(opLocalGet, deal)
	c.op(opI32WrapI64)
	c.indexed(opGlobalSet, g.slice)
	return f
}

// enter is called at the entry of a function if slice or depth is negative after the slice was
// charged. If depth is negative, it calls the host, which may have dealt out fewer frames than
// there may be.
func (r *rewriter) enter() function {
	f := function{name: "enter", t: signature(i32(), nil)}
	c, g := &f.code, &r.globals
	const cost = 0
	tooDeep := func() {
		c.indexed(opGlobalGet, g.depth)
		c.i32(0)
		c.op(opI32LtS)
	}
	if r.shift > 0 {
		tooDeep()
		c.op(opIf, empty)
		c.indexed(opCall, r.imported)
		r.trap(c, Stopped)
		c.op(opEnd)
	}
	tooDeep()
	r.trap(c, TooDeep)
	add := func(op byte) {
		c.indexed(opGlobalGet, g.slice)
		c.indexed(opLocalGet, cost)
		c.op(op)
		c.indexed(opGlobalSet, g.slice)
	}
	add(opI32Add)
	c.indexed(opLocalGet, cost)
	c.indexed(opCall, r.helpers.refill())
	add(opI32Sub)
	return f
}

// charge writes a charge of as many units as a local says.
func (r *rewriter) charge(c *code, local int) {
	c.indexed(opGlobalGet, r.globals.slice)
	c.indexed(opLocalGet, local)
	c.op(opI32LtS, opIf, empty)
	c.indexed(opLocalGet, local)
	c.indexed(opCall, r.helpers.refill())
	c.op(opEnd)
	c.indexed(opGlobalGet, r.globals.slice)
	c.indexed(opLocalGet, local)
	c.op(opI32Sub)
	c.indexed(opGlobalSet, r.globals.slice)
}

func signature(params, results []wire.ValType) wire.FuncType {
	return wire.FuncType{Params: params, Results: results}
}

// i32 returns one value of the type.
func i32() []wire.ValType { return []wire.ValType{wire.ValI32} }
