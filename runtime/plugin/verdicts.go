package plugin

import (
	"math"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Verdicts are the answers of a filter: for each row of the call, by position, a code and the
// number of a reason set. Every row starts as Success.
type Verdicts struct {
	// Codes has one element per row of the call.
	Codes []abi.Code
	// Reasons has one element per row of the call: 0 for none, n for Table[n-1].
	Reasons []uint16
	// Table has the reason sets of this call.
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

// Reason adds a reason set and returns its number for Reject. The texts are not copied and must
// not change afterwards. If there are too many sets for the type of the number, all further
// sets get the number of the last one.
func (v *Verdicts) Reason(texts ...string) uint16 {
	if len(v.Table) < math.MaxUint16 {
		v.Table = append(v.Table, texts)
	}
	return uint16(len(v.Table))
}

// Reject sets the verdict of the call's i-th row.
func (v *Verdicts) Reject(i int, code abi.Code, reason uint16) {
	v.Codes[i], v.Reasons[i] = code, reason
}

// Texts returns the reasons of the call's i-th row.
func (v *Verdicts) Texts(i int) []string {
	if v.Reasons[i] == 0 {
		return nil
	}
	return v.Table[v.Reasons[i]-1]
}
