package fgd

import "github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"

// unknown is a score that is not computed yet.
const unknown = 255

// shapes is the number of kinds of pods for which scores are kept: more than a workload usually
// has.
const shapes = 128

// memo keeps the scores of rows for kinds of pods: a score is valid while the node does not
// change, and from pod to pod only one node changes. Rows are only the places to look: a kept
// score is used only if it was computed for the exact state of the node. So it saves work, but
// cannot change answers.
type memo struct {
	states []state
	known  [shapes][]uint8 // by shape, then by row
	of     [shapes]gpushare.Demand
	n      int // number of shapes
	oldest int // the shape that the next one replaces if there are too many
	now    int // this call's shape
}

// begin finds or adds the shape of a pod.
func (m *memo) begin(d gpushare.Demand) {
	for i := range m.n {
		if m.of[i] == d {
			m.now = i
			return
		}
	}
	m.now = m.n
	if m.n == shapes {
		m.now, m.oldest = m.oldest, (m.oldest+1)%shapes
	} else {
		m.n++
	}
	m.of[m.now] = d
	forget(m.known[m.now])
}

// at returns the place of a row's score for this call's pod.
func (m *memo) at(row uint32, s *state) *uint8 {
	if int(row) >= len(m.states) {
		m.grow(max(int(row)+1, 2*len(m.states)))
	}
	if m.states[row] != *s {
		m.states[row] = *s
		for i := range m.n {
			m.known[i][row] = unknown
		}
	}
	return &m.known[m.now][row]
}

func (m *memo) grow(rows int) {
	had := len(m.states)
	m.states = append(m.states, make([]state, rows-had)...)
	for i := range m.known {
		m.known[i] = append(m.known[i], make([]uint8, rows-had)...)
		forget(m.known[i][had:])
	}
}

func forget(known []uint8) {
	for i := range known {
		known[i] = unknown
	}
}
