package meter

// Fuel is counted in grains. The cost of an instruction is set for the slowest code that
// consists of it, on today's processors: an access of memory that no cache has, a number for
// which arithmetic is slow, a jump to distant code. So no grain takes longer than MostTimesPlain
// times its time in a loop that does nothing, which BenchmarkWorst measures.
const (
	// Unit is the number of grains in a unit of fuel. People set and read units.
	Unit = 512
	// Iteration is the cost in grains of one iteration of a loop that only counts. The
	// prices of Config are multiples of it.
	Iteration = fuelLoop + 5
	// MostTimesPlain bounds what a unit takes: so many times its time in a loop that does nothing. Only cache misses come
	// near it.
	MostTimesPlain = 32

	fuelLoop     = 2  // besides the instructions of an iteration
	fuelEntry    = 64 // of a function
	fuelCall     = 64 // besides entry, parameters and results
	fuelValue    = 8  // each of them beyond freeValues: they go by way of the stack
	freeValues   = 8
	fuelAccess   = 128 // of memory, of a table
	fuelIndirect = fuelCall + 3*fuelAccess
	fuelTable    = 64 // a jump by br_table
	fuelHost     = 64 // an instruction that leaves machine code for the host
	fuelFloat    = 32 // arithmetic of floats
	fuelVector   = 64 // the same of vectors
	fuelSlow     = 128
	fuelBulk     = 2*fuelAccess + fuelCall // besides bytes
)

// setFuel sets the costs of instructions: their weight, but more for those that may take much
// longer than usual.
func (t *instructions) setFuel() {
	for _, list := range [][]instruction{t.plain[:], t.misc[:], t.simd[:]} {
		for i := range list {
			if list[i].fuel = uint16(list[i].weight); list[i].weight == weightAccess && accesses(list[i].imm) {
				list[i].fuel = fuelAccess
			}
		}
	}
	fuel := func(list []instruction, from, to int, fuel uint16) {
		for op := from; op <= to; op++ {
			list[op].fuel = fuel
		}
	}
	p := t.plain[:]
	fuel(p, opCall, opCall, fuelCall)
	fuel(p, opCallIndirect, opCallIndirect, fuelIndirect)
	fuel(p, opBrTable, opBrTable, fuelTable)
	fuel(p, opMemoryGrow, opMemoryGrow, fuelCall+fuelHost)
	fuel(p, opRefFunc, opRefFunc, fuelHost)
	fuel(p, 0x91, 0x97, fuelFloat) // f32: square root, arithmetic, min, max
	fuel(p, 0x9f, 0xa5, fuelFloat) // f64
	fuel(p, 0xb6, 0xb6, fuelFloat) // f32.demote_f64
	fuel(p, 0xbb, 0xbb, fuelFloat) // f64.promote_f32
	for op := range t.misc {
		if t.misc[op].imm == immSpecial {
			t.misc[op].fuel = fuelBulk
		}
	}
	v := t.simd[:]
	fuel(v, 94, 95, fuelVector) // demotion and promotion
	for op := 224; op < len(v); op++ {
		if v[op].weight == 2*weightSlow {
			v[op].fuel = fuelSlow
		} else if v[op].imm != immUnknown {
			v[op].fuel = fuelVector
		}
	}
}

// accesses reports whether an immediate names a place in memory or a table.
func accesses(imm immediate) bool {
	return imm == immMemarg || imm == immMemargLane || imm == immTable
}
