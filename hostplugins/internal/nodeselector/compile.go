// Package nodeselector matches node selectors against rows of a snapshot.
// A selector is compiled once per cycle: its keys and values become string ids of the snapshot,
// and requirements that the ids alone decide are dropped. Matching processes the rows in
// blocks, one requirement at a time over one label column, without allocating. A compiled
// selector holds ids but no columns, so it stays valid when overlay rows are added, and
// goroutines may share it.
package nodeselector

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// operator is what a compiled requirement checks on a row.
type operator uint8

const (
	hasOne operator = iota // the value is values[0]
	hasFew                 // the value is one of values
	hasSet                 // the value is in set
	hasNone
	exists
	absent
	greater
	less
	named
	notNamed
)

// few is the largest number of values that are compared one by one.
const few = 4

type requirement struct {
	op     operator
	key    uint32
	values []uint32
	set    []uint64 // a bit for each value id
	number int64    // the operand of greater and less
	name   string   // the operand of named and notNamed
}

type term struct {
	requirements []requirement
	weight       int64
}

// Selector is a conjunction of labels and a disjunction of terms.
type Selector struct {
	all      []requirement // spec.nodeSelector
	never    bool          // all cannot hold on any row
	anyOf    []term        // terms that can match
	hasTerms bool          // one of anyOf must hold
}

// Pod compiles spec.nodeSelector and required node affinity of a pod.
func Pod(pod *state.Pod, strings *wire.Dict) Selector {
	var s Selector
	var possible bool
	s.all, possible = requirements(nil, pod.Selector, strings)
	s.never = !possible
	if s.hasTerms = pod.HasRequired; s.hasTerms {
		s.anyOf = terms(pod.Required, strings)
	}
	return s
}

// Terms compiles ORed terms. An empty list matches nothing (core/v1 NodeSelector).
func Terms(in []state.Term, strings *wire.Dict) Selector {
	return Selector{hasTerms: true, anyOf: terms(in, strings)}
}

// Preferences is a list of weighted terms.
type Preferences []term

// Preferred compiles weighted terms.
func Preferred(in []state.Term, strings *wire.Dict) Preferences { return terms(in, strings) }

// terms compiles the terms that can match a row.
func terms(in []state.Term, strings *wire.Dict) []term {
	out := make([]term, 0, len(in))
	for i := range in {
		if in[i].Err != nil || in[i].Empty() {
			continue
		}
		list := make([]requirement, 0, len(in[i].Labels)+len(in[i].Fields))
		for _, f := range in[i].Fields {
			op := named
			if f.Op == v1.NodeSelectorOpNotIn {
				op = notNamed
			}
			list = append(list, requirement{op: op, name: f.Values[0]})
		}
		if list, ok := requirements(list, in[i].Labels, strings); ok {
			out = append(out, term{requirements: list, weight: int64(in[i].Weight)})
		}
	}
	return out
}

// requirements appends the compiled requirements to dst, without those that hold on every row.
// It reports false if one holds on no row.
func requirements(dst []requirement, in []state.Requirement, strings *wire.Dict) ([]requirement, bool) {
	if dst == nil {
		dst = make([]requirement, 0, len(in))
	}
	for i := range in {
		r := requirement{key: strings.Lookup(in[i].Key), number: in[i].Number}
		switch in[i].Op {
		case v1.NodeSelectorOpIn:
			r.has(in[i].Values, strings)
			if len(r.values) == 0 {
				return nil, false
			}
		case v1.NodeSelectorOpNotIn:
			r.has(in[i].Values, strings)
			r.op = hasNone
			if r.key == 0 || len(r.values) == 0 {
				continue
			}
		case v1.NodeSelectorOpExists:
			r.op = exists
		case v1.NodeSelectorOpDoesNotExist:
			r.op = absent
			if r.key == 0 {
				continue
			}
		case v1.NodeSelectorOpGt:
			r.op = greater
		case v1.NodeSelectorOpLt:
			r.op = less
		}
		if r.key == 0 {
			return nil, false // no row has the label
		}
		dst = append(dst, r)
	}
	return dst, true
}

// has stores the subset of values that rows of this epoch can have.
func (r *requirement) has(values []string, strings *wire.Dict) {
	r.values = make([]uint32, 0, len(values))
	for _, v := range values {
		if id := strings.Lookup(v); id != 0 {
			r.values = append(r.values, id)
		}
	}
	switch n := len(r.values); {
	case n == 1:
		r.op = hasOne
	case n <= few:
		r.op = hasFew
	default:
		r.op = hasSet
		r.set = make([]uint64, slices.Max(r.values)/64+1)
		for _, v := range r.values {
			r.set[v/64] |= 1 << (v % 64)
		}
	}
}
