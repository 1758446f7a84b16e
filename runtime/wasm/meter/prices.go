package meter

import (
	"math"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Price is the price of calling an imported function, besides the instruction: how long a host
// works may depend on the parameters, and it makes no checks.
type Price struct {
	// Module and Name are those of the import. A price without a name is for all functions
	// of the module that have no other.
	Module, Name string
	// Fixed is in iterations (Iteration), like all prices.
	Fixed uint32
	// Lengths are parameters to which the work is proportional.
	Lengths []Length
}

// Length is a parameter of type i32, by its index. Each 1 << Shift of it costs so many
// Iterations, at least one, up to 2³¹ − 1 grains in all.
type Length struct {
	Param      int
	Shift      uint8
	Iterations uint32
}

// setPrices adds a helper for each imported function that has a price. All calls go to the
// helper, those through tables too.
func (r *rewriter) setPrices() {
	r.helpers = helpers{first: r.renumbered(len(r.typeOf)), index: map[helper]int{}}
	r.priced = make([]int, r.imported)
	for i := range r.module.Imports {
		imp := &r.module.Imports[i]
		if k := r.config.priceOf(imp.Module, imp.Name, r.module.Types[imp.Type].Params); k >= 0 {
			r.priced[i] = r.helpers.find(helper{kind: helpPrice, a: i, b: k})
		}
	}
}

// priceOf returns the index of a function's price; −1 if it has none.
func (c *Config) priceOf(module, name string, params []wire.ValType) int {
	found := -1
	for k := range c.Prices {
		p := &c.Prices[k]
		if p.Module != module || !p.fits(params) {
			continue
		}
		if p.Name == name {
			return k
		}
		if p.Name == "" {
			found = k
		}
	}
	return found
}

// fits reports whether a function has the parameters of the price. An import of another type
// has no price, since no host has that function.
func (p *Price) fits(params []wire.ValType) bool {
	for _, l := range p.Lengths {
		if l.Param >= len(params) || params[l.Param] != wire.ValI32 {
			return false
		}
	}
	return true
}

// price returns the helper for an import with a price: it charges and calls the import. It
// charges in parts, none of which can be negative.
func (r *rewriter) price(imported int, p *Price) function {
	t := r.module.Types[r.typeOf[imported]]
	f := function{name: p.Name, t: t, locals: i32()}
	c := &f.code
	cost := len(t.Params)
	if p.Fixed > 0 {
		c.i32(int32(min(p.Fixed, math.MaxInt32/Iteration) * Iteration))
		c.indexed(opLocalSet, cost)
		r.charge(c, cost)
	}
	for _, l := range p.Lengths {
		l.charge(c, cost)
		r.charge(c, cost)
	}
	for i := range t.Params {
		c.indexed(opLocalGet, i)
	}
	c.indexed(opCall, imported)
	return f
}

// charge writes cost = min(parameter >> Shift, most) × Iterations.
func (l *Length) charge(c *code, cost int) {
	each := min(max(l.Iterations, 1), math.MaxInt32/Iteration) * Iteration
	most := int32(math.MaxInt32 / each)
	c.indexed(opLocalGet, l.Param)
	c.i32(int32(l.Shift))
	c.op(opI32ShrU)
	c.indexed(opLocalTee, cost)
	c.i32(most)
	c.op(opI32GtU, opIf, empty)
	c.i32(most)
	c.indexed(opLocalSet, cost)
	c.op(opEnd)
	c.indexed(opLocalGet, cost)
	c.i32(int32(each))
	c.op(opI32Mul)
	c.indexed(opLocalSet, cost)
}
