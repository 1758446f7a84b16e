// Package plugintest schedules one pod: filters, then scores, as the scheduler does and nothing
// more. Columns runs plugins over a snapshot, Objects runs their per-node counterparts over API
// objects, and both fill in a Result, so that benchmarks and tests can compare them.
package plugintest

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Result is the outcome for one pod. It can be reused.
type Result struct {
	// Code, Reasons and By have one element per node. By is the index of the filter that
	// rejected it. A node that PreFilter excluded has no reasons.
	Code    []abi.Code
	Reasons [][]string
	By      []uint8
	// Skipped reports the filters that had nothing to do, by index.
	Skipped []bool
	// Feasible holds the feasible nodes.
	Feasible []uint32
	// Scores has one element per score plugin.
	Scores []Scores
	// Total is the weighted sum for each feasible node.
	Total []int64
	// KeepRaw asks for Scores.Raw.
	KeepRaw bool

	rows []uint32
}

// Scores holds the scores of one plugin for each feasible node.
type Scores struct {
	Code        abi.Code // of PreScore or Score: Success, Skip or Error
	Raw, Normal []int64
}

func (r *Result) reset(nodes, filters, scores int) {
	r.Code, r.Reasons, r.By = sized(r.Code, nodes), sized(r.Reasons, nodes), sized(r.By, nodes)
	r.Skipped = sized(r.Skipped, filters)
	r.rows = slices.Grow(r.rows[:0], nodes)[:nodes]
	for i := range r.rows {
		r.rows[i] = uint32(i)
	}
	if len(r.Scores) != scores {
		r.Scores = make([]Scores, scores)
	}
	r.Feasible, r.Total = r.rows, r.Total[:0]
}

// score prepares the arrays of a score plugin.
func (r *Result) score(i int) *Scores {
	s := &r.Scores[i]
	s.Code = abi.Success
	s.Raw, s.Normal = s.Raw[:0], sized(s.Normal, len(r.Feasible))
	return s
}

func (s *Scores) skip(code abi.Code) {
	s.Code, s.Raw, s.Normal = code, s.Raw[:0], s.Normal[:0]
}

// reject records a verdict; the caller removes the row.
func (r *Result) reject(row uint32, by int, code abi.Code, reasons []string) {
	r.Code[row], r.By[row], r.Reasons[row] = code, uint8(by), reasons
}

// sized returns s with n zero elements.
func sized[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// Difference returns the first difference between two results, or nil.
func Difference(a, b *Result) error {
	if !slices.Equal(a.Skipped, b.Skipped) {
		return fmt.Errorf("skipped filters: %v and %v", a.Skipped, b.Skipped)
	}
	for row := range a.Code {
		if a.Code[row] != b.Code[row] || a.By[row] != b.By[row] || !slices.Equal(a.Reasons[row], b.Reasons[row]) {
			return fmt.Errorf("node %d: filter %d says %v %q, filter %d says %v %q", row,
				a.By[row], a.Code[row], a.Reasons[row], b.By[row], b.Code[row], b.Reasons[row])
		}
	}
	if !slices.Equal(a.Feasible, b.Feasible) {
		return fmt.Errorf("feasible: %v and %v", a.Feasible, b.Feasible)
	}
	for i := range a.Scores {
		x, y := &a.Scores[i], &b.Scores[i]
		if x.Code != y.Code || !slices.Equal(x.Raw, y.Raw) || !slices.Equal(x.Normal, y.Normal) {
			return fmt.Errorf("score %d: %v raw %v normal %v and %v raw %v normal %v", i,
				x.Code, x.Raw, x.Normal, y.Code, y.Raw, y.Normal)
		}
	}
	if !slices.Equal(a.Total, b.Total) {
		return fmt.Errorf("totals: %v and %v", a.Total, b.Total)
	}
	return nil
}
