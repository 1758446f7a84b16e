package wasm

import (
	"sync"
)

// source is what instances are filled from that share string ids: those of a
// cycle, or one aux instance.
type source struct {
	encoder      podEncoder
	record       []byte // of the pod to be placed
	recordNumber uint64
	other        podEncoder // of another pod that a call is about
	otherRoom    uint32     // room for its record in bytes
	shardCount   int        // how many instances share the rows
	ledger       *ledger    // of what is logged

	// mu guards what follows within a cycle, when an instance is filled anew or an
	// overlay row is written while others run.
	mu      sync.Mutex
	dict    dictionary
	room    capacities
	visible []uint32 // scratch
}

func (s *source) begin(p *projection) {
	s.dict.begin()
	s.encoder = podEncoder{p: p, dict: &s.dict}
	s.other = podEncoder{p: p, dict: &s.dict}
}
