package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// request is one call of a guest's point.
type request struct {
	point abi.Point
	rows  []uint32 // of the host, ascending; nil for a point without rows
	// scores are the input of normalize; nil otherwise.
	scores []int64
	// stateful calls may write state.
	stateful bool
}

// call makes one call and lets collect take the answers out of the region while
// they are valid. The code is the guest's for the call as a whole.
func (s *shard) call(c *plugin.Cycle, r request, collect func(code abi.Code) *Fault) (abi.Code, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plug
	if s.guest == nil {
		// An earlier call was faulted: the host may use a fresh instance for any
		// call (ABI-2.8).
		if f := p.asFault(r.point, s.revive(c)); f != nil {
			return abi.Error, f
		}
	}
	s.view()
	lo, hi, err := s.prepare(c, r)
	if err != nil {
		return abi.Error, s.faulted(c, r.point, Output, err.Error())
	}
	s.env.state, s.env.writable = p.stateOf(c, r.stateful), r.stateful
	n := p.calls.Add(1)
	verify := p.config.VerifyEvery > 0 && n%int64(p.config.VerifyEvery) == 0
	var before uint64
	if verify {
		before = s.hash()
	}
	result, err := s.guest.Call(c.Context, r.point, s.base+s.layout.Call, lo, hi)
	if err != nil {
		return abi.Error, s.faulted(c, r.point, Trap, err.Error())
	}
	s.view()
	if verify && s.hash() != before {
		return abi.Error, s.faulted(c, r.point, WroteSnapshot, "the guest changed columns, which are the host's")
	}
	if result >= abi.NumCodes {
		return abi.Error, s.faulted(c, r.point, Output, fmt.Sprintf("%s returned %d, which is no status code", exportOf(r.point), result))
	}
	if f := collect(abi.Code(result)); f != nil {
		s.discard(c)
		return abi.Error, f
	}
	return abi.Code(result), nil
}

// revive makes a fresh instance and fills it.
func (s *shard) revive(c *plugin.Cycle) error {
	s.plug.mu.Lock()
	defer s.plug.mu.Unlock()
	return s.ready(c)
}

// prepare writes what the call needs and returns its bounds.
func (s *shard) prepare(c *plugin.Cycle, r request) (lo, hi uint32, err error) {
	p, l := s.plug, s.layout
	seed := c.Seed
	if p.sharded {
		seed = 0
	}
	l.SetCycle(s.mem, wire.Cycle{Epoch: p.dict.epoch, Generation: c.Snapshot.Generation, Seed: seed, State: 1})
	if s.pod != p.recordNumber {
		copy(s.mem[l.Pod:l.Pod+l.PodRoom], p.record)
		s.bytes += uint64(len(p.record))
		s.pod = p.recordNumber
	}
	call := wire.Call{Point: r.point, PodSize: uint32(len(p.record)), N: uint32(len(r.rows))}
	if n := len(r.rows); n == 1 && int(r.rows[0]) >= c.Snapshot.Capacity() {
		if lo, err = s.overlay(c.Snapshot, r.rows[0]); err != nil {
			return 0, 0, err
		}
		hi, call.Flags = lo+1, abi.CallOverlayRows
	} else if n > 0 {
		if call.N > l.MaxRows {
			return 0, 0, fmt.Errorf("BUG: %d rows asked of a region of %d", n, l.MaxRows)
		}
		lo, hi = s.local(r.rows[0]), s.local(r.rows[n-1])+1
		if hi-lo != uint32(n) {
			call.RowSet = true
			for i, row := range r.rows {
				binary.LittleEndian.PutUint32(s.mem[l.RowSet+4*uint32(i):], s.local(row))
			}
		}
	}
	l.SetCall(s.mem, s.base, call, r.scores == nil)
	for i, score := range r.scores {
		binary.LittleEndian.PutUint64(s.mem[l.Scores+8*uint32(i):], uint64(score))
	}
	return lo, hi, nil
}

// hash is over what the guest must not write.
func (s *shard) hash() uint64 { return maphash.Bytes(s.plug.hashSeed, s.mem[s.layout.ReadOnly:]) }

// faulted drops the instance and returns the fault.
func (s *shard) faulted(c *plugin.Cycle, point abi.Point, kind Kind, detail string) *Fault {
	f := s.plug.fault(point, kind, detail, s.env)
	s.discard(c)
	return f
}

// discard closes the instance; the next use makes a new one.
func (s *shard) discard(c *plugin.Cycle) {
	if err := s.guest.Close(c.Context); err != nil {
		s.plug.deps.Log.Warn("instance does not close", "plugin", s.plug.config.Name, "error", err)
	}
	s.guest = nil
}

// asFault makes a fault of an error, which is one already if a guest is to blame.
func (p *Plugin) asFault(point abi.Point, err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		atPoint := *f
		atPoint.Point = point
		return &atPoint
	}
	return p.fault(point, Start, err.Error(), nil)
}

// stateOf returns the plugin's state of the cycle; nil when nothing was written
// and nothing may be.
func (p *Plugin) stateOf(c *plugin.Cycle, create bool) *guestState {
	if v := c.State.Read(p.config.Name, stateKey); v != nil {
		return v.(*guestState)
	}
	if !create {
		return nil
	}
	v := &guestState{}
	c.State.Write(p.config.Name, stateKey, v)
	return v
}

// stateKey is the key of a plugin's bytes in a CycleState.
const stateKey = "guest"
