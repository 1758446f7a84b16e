package meter

import "github.com/berth-scheduler/berth/abi/wire"

// Price is what a call of an imported function costs besides its instruction,
// since a host may work for as long as its parameters say, and no check is in it.
type Price struct {
	// Module and Name are those of the import.
	Module, Name string
	// Fixed is in units.
	Fixed uint32
	// Lengths are parameters that work is in proportion to.
	Lengths []Length
}

// Length is a parameter of type i32 by its index, of which each 1 << Shift cost a
// unit. Shift is at least 1.
type Length struct {
	Param int
	Shift uint8
}

// setPrices adds a helper for each imported function that has a price. All calls go
// to it, through tables, too.
func (r *rewriter) setPrices() {
	r.helpers = helpers{first: r.renumbered(len(r.typeOf)), index: map[helper]int{}}
	r.priced = make([]int, r.imported)
	for i := range r.module.Imports {
		imp := &r.module.Imports[i]
		for k := range r.config.Prices {
			if p := &r.config.Prices[k]; p.Module == imp.Module && p.Name == imp.Name && p.fits(r.module.Types[imp.Type].Params) {
				r.priced[i] = r.helpers.find(helper{kind: helpPrice, a: i, b: k})
			}
		}
	}
}

// fits reports whether the parameters are there. An import of another type has no
// price; a host does not have it.
func (p *Price) fits(params []wire.ValType) bool {
	for _, l := range p.Lengths {
		if l.Param >= len(params) || params[l.Param] != wire.ValI32 {
			return false
		}
	}
	return true
}

// price returns the helper for an import with a price: it charges, and calls it.
// The charge is in parts, none of which can be negative.
func (r *rewriter) price(imported int, p *Price) function {
	t := r.module.Types[r.typeOf[imported]]
	f := function{name: p.Name, t: t, locals: i32()}
	c := &f.code
	cost := len(t.Params)
	if p.Fixed > 0 {
		c.i32(int32(p.Fixed))
		c.indexed(opLocalSet, cost)
		r.charge(c, cost)
	}
	for _, l := range p.Lengths {
		c.indexed(opLocalGet, l.Param)
		c.i32(int32(max(l.Shift, 1)))
		c.op(opI32ShrU)
		c.indexed(opLocalSet, cost)
		r.charge(c, cost)
	}
	for i := range t.Params {
		c.indexed(opLocalGet, i)
	}
	c.indexed(opCall, imported)
	return f
}
