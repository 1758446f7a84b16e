package plugin

import (
	"math"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Verdicts is what a filter answers: for each row asked, by position, a code
// and the number of a reason set. Every row starts as Success.
type Verdicts struct {
	// Codes has one element a row asked.
	Codes []abi.Code
	// Reasons has one element a row asked: 0 for none, n for Table[n-1].
	Reasons []uint16
	// Table holds the reason sets of this call.
	Table [][]string
}

// Reset prepares the verdicts for n rows.
func (v *Verdicts) Reset(n int) {
	v.Codes = slices.Grow(v.Codes[:0], n)[:n]
	v.Reasons = slices.Grow(v.Reasons[:0], n)[:n]
	clear(v.Codes)
	clear(v.Reasons)
	clear(v.Table)
	v.Table = v.Table[:0]
}

// Reason adds a reason set and returns its number for Reject. The texts are kept
// as they are and must not change afterwards. When there are as many sets as a
// number can tell apart, the last one stands for all further ones.
func (v *Verdicts) Reason(texts ...string) uint16 {
	if len(v.Table) < math.MaxUint16 {
		v.Table = append(v.Table, texts)
	}
	return uint16(len(v.Table))
}

// Reject sets the verdict of the i-th row asked.
func (v *Verdicts) Reject(i int, code abi.Code, reason uint16) {
	v.Codes[i], v.Reasons[i] = code, reason
}

// Texts returns the reasons of the i-th row asked.
func (v *Verdicts) Texts(i int) []string {
	if v.Reasons[i] == 0 {
		return nil
	}
	return v.Table[v.Reasons[i]-1]
}
