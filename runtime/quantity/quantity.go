// Package quantity turns the API's quantities into int64 amounts, and adds them up. A quantity has
// no maximum, but kube-scheduler's arithmetic has one, and wraps beyond it. Here amounts stop at the
// largest int64, and so do their sums.
package quantity

import (
	"cmp"
	"math"
	"math/bits"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Sum returns a + b, or the nearest int64 to it.
func Sum(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Portion returns part × whole / all, rounded down. It needs 0 ≤ part ≤ all and a whole of 0 or more,
// so that the result is at most whole, but the product may be above the largest int64.
func Portion(part, whole, all int64) int64 {
	if part <= math.MaxInt32 && whole <= math.MaxInt32 { // the common case
		return part * whole / all
	}
	high, low := bits.Mul64(uint64(part), uint64(whole))
	if high == 0 {
		return int64(low / uint64(all))
	}
	quotient, _ := bits.Div64(high, low, uint64(all))
	return int64(quotient)
}

// Whole returns a quantity in whole units, rounded up, or the nearest int64 to it.
func Whole(q resource.Quantity) int64 {
	if n, ok := q.AsInt64(); ok {
		return n
	}
	if n, beyond := limit(q, math.MaxInt64); beyond {
		return n
	}
	return q.Value()
}

// Milli returns a quantity in thousandths, rounded up, or the nearest int64 to it.
func Milli(q resource.Quantity) int64 {
	if n, beyond := limit(q, resource.MaxMilliValue); beyond {
		return n
	}
	return q.MilliValue()
}

// Of returns the quantity of a resource in the scheduler's unit: thousandths for cpu, whole units
// for others.
func Of(name v1.ResourceName, q resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return Milli(q)
	}
	return Whole(q)
}

// limit returns the largest or smallest int64 if a quantity is above most or below −most.
func limit(q resource.Quantity, most int64) (n int64, beyond bool) {
	above, below := false, false
	if n, ok := q.AsInt64(); ok { // the common case
		above, below = n > most, n < -most
	} else if Endless(q) {
		above, below = q.Sign() > 0, q.Sign() < 0
	} else {
		above, below = q.CmpInt64(most) > 0, q.CmpInt64(-most) < 0
	}
	switch {
	case above:
		return math.MaxInt64, true
	case below:
		return math.MinInt64, true
	}
	return 0, false
}

// Compare orders quantities, endless ones as if they were the nearest int64.
func Compare(a, b resource.Quantity) int {
	if Endless(a) || Endless(b) {
		return cmp.Compare(Whole(a), Whole(b))
	}
	return a.Cmp(b)
}

// Endless reports whether a quantity, such as 1e999999999, has so many digits that comparing,
// adding or printing it would take minutes.
func Endless(q resource.Quantity) bool {
	if _, ok := q.AsInt64(); ok {
		return false
	}
	if n := q.Value(); n > 0 && n < 1<<53 { // a fraction; this spares AsDec's allocation
		return false
	}
	return q.AsDec().Scale() < -maxDigits && q.Sign() != 0
}

const maxDigits = 1000
