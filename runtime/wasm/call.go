package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// request is one call of a guest's point.
type request struct {
	point abi.Point
	rows  []uint32 // of the host, ascending; nil for a point without rows
	// verdicts takes filter's answers, from position at on.
	verdicts *plugin.Verdicts
	at       int
	// scores takes score's and normalize's answers, and is normalize's input.
	scores []int64
	// inRange tells that scores must be normalised.
	inRange bool
	// stateful calls may write state.
	stateful bool
	// pods are those of the pod list, or else the one to be placed; batch is their
	// number for points about many pods, and 0 for others.
	pods  []*state.Pod
	batch int
	keys  [][]byte // takes queue_key's answers
	fuel  int64    // that the call has used

	// state is that of the pod's cycle, nil for none.
	state *state.CycleState
}

// n is how many answers there are.
func (r *request) n() int {
	if r.batch > 0 {
		return r.batch
	}
	return len(r.rows)
}

// reply is what a guest answered for a call as a whole.
type reply struct {
	code   abi.Code
	status *plugin.Status // nil for Success
	rows   []uint32       // pre_filter's row set
	// directives are checked against the grants.
	directives []wire.Directive
	wait       uint64 // milliseconds
}

// call makes one call. The caller has entered the cycle.
func (s *shard) call(c *plugin.Cycle, r *request) (_ reply, f *fault.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.plug.count(r.point, f) }()
	allowed, starts := s.plug.ration.enter(r.point, len(r.rows) == 1 && int(r.rows[0]) >= c.Snapshot.Capacity(), s.plug.affordsStarts)
	switch {
	case !allowed:
		return reply{}, s.plug.spent(r.point)
	case !starts:
		return reply{}, s.plug.breaker.StartFault(r.point)
	}
	defer func() {
		large := s.large()
		if f != nil || large {
			s.discard(c.Context) // ABI-2.10
		}
		switch {
		case f != nil:
			s.plug.ending.Lost(f)
		case large && (s.rowless || s.plug.plan.Tight()): // else there will be fewer instances, once
			s.plug.ending.Restart()
		}
	}()
	defer s.plug.guard(r.point, &f)
	defer func() { s.plug.ration.used(r.fuel) }()
	if s.guest == nil { // an earlier call was faulted
		if f := s.plug.asFault(r.point, s.revive(c.Context, c.Snapshot)); f != nil {
			return reply{}, f
		}
	}
	lo, hi, err := s.prepare(c, r)
	for try := 0; errors.Is(err, mirror.ErrNoRoom) && try < maxGrowth; try++ { // overlay rows may need more
		if err = s.revive(c.Context, c.Snapshot, r.rows...); err == nil {
			lo, hi, err = s.prepare(c, r)
		}
	}
	if err != nil {
		return reply{}, s.plug.asFault(r.point, err)
	}
	if r.pods == nil {
		r.pods = s.plug.pods[:]
	}
	r.state = c.State
	if !r.stateful && !s.plug.sharded { // pre_filter saw rows, which a point of scope node must not (ABI-7.5)
		r.state = nil
	}
	return s.run(c.Context, c.Snapshot, r, lo, hi)
}

// run calls the guest and reads its answers.
func (s *shard) run(ctx context.Context, snap *state.Snapshot, r *request, lo, hi uint32) (reply, *fault.Fault) {
	p := s.plug
	bad := func(kind fault.Kind, detail string) (reply, *fault.Fault) {
		return reply{}, p.fault(r.point, kind, detail, s.env)
	}
	verify := s.sampled()
	if verify && p.config.VerifyEvery > 1 && !s.ShowsOverlay() {
		if ok, err := s.Restore(snap); err != nil {
			return reply{}, p.asFault(r.point, err)
		} else if !ok {
			return bad(fault.WroteSnapshot, "the guest has changed columns, which are the host's, since they were last checked")
		}
	}
	s.env.begin(p, r)
	s.env.ledger = s.src.ledger
	p.calls.Add(1)
	s.env.log.data = s.env.log.data[:0] // what it said of other pods is not for this one
	var before uint64
	if verify {
		before = s.Hash()
	}
	s.env.next = p.config.Limits.grant(r.n())
	result, err := s.guest.Call(ctx, r.point, s.Base()+s.Layout().Call, lo, hi)
	s.env.end()
	p.fuel.Add(s.env.used)
	p.work[r.point].call(r.n(), s.env.used)
	r.fuel = s.env.used
	if b := s.env.panicked; b != nil {
		return reply{}, p.bug(r.point, b.value, b.stack)
	}
	if err != nil {
		detail, trace := trapText(err)
		return reply{}, p.traced(r.point, trapKind(err), detail, trace, s.env)
	}
	if err := s.view(); err != nil {
		return bad(fault.Trap, err.Error())
	}
	if verify && s.Hash() != before {
		return bad(fault.WroteSnapshot, "the guest changed columns, which are the host's")
	}
	if result >= abi.NumCodes {
		return bad(fault.Output, fmt.Sprintf("%s returned %d, which is no status code", exportOf(r.point), result))
	}
	return s.answer(r, abi.Code(result))
}

// prepare writes what the call needs and returns its bounds.
func (s *shard) prepare(c *plugin.Cycle, r *request) (lo, hi uint32, err error) {
	if err := s.view(); err != nil {
		return 0, 0, s.plug.fault(r.point, fault.Trap, err.Error(), s.env)
	}
	p, l := s.plug, s.Layout()
	s.SyncPod()
	call := wire.Call{Point: r.point, PodSize: s.src.PodSize(), N: uint32(len(r.rows))}
	if r.point == abi.AddPod || r.point == abi.RemovePod {
		if err := s.WriteOther(r.pods[0]); err != nil {
			return 0, 0, err
		}
		call.Pods = true
	}
	if n := len(r.rows); n == 1 && int(r.rows[0]) >= c.Snapshot.Capacity() {
		if lo, err = s.Overlay(c.Snapshot, r.rows[0]); err != nil {
			return 0, 0, err
		}
		hi, call.Flags = lo+1, abi.CallOverlayRows
	} else if n > 0 {
		lo, hi = s.Local(r.rows[0]), s.Local(r.rows[n-1])+1
		if call.N > l.MaxRows || hi > s.Rows() {
			panic(fmt.Sprintf("BUG: %d rows up to %d asked of an instance that has %d", n, hi, s.Rows()))
		}
		if hi-lo != uint32(n) {
			call.RowSet = true
			s.WriteRowSet(r.rows)
		}
	}
	cycle := wire.Cycle{Epoch: s.src.Epoch(), Generation: c.Snapshot.Generation, State: 1}
	if !p.nodeScoped(r.point) {
		cycle.Seed = c.Seed
	}
	s.WriteCall(cycle, call)
	if r.point == abi.PostFilter {
		for i, code := range r.verdicts.Codes {
			s.Region()[l.Codes+uint32(i)] = byte(code)
		}
	}
	if r.point == abi.Normalize {
		for i, score := range r.scores {
			binary.LittleEndian.PutUint64(s.Region()[l.Scores+8*uint32(i):], uint64(score))
		}
	}
	s.Flush()
	return lo, hi, nil
}

// stateOf returns the plugin's state of a pod's cycle; nil when nothing was
// written and nothing may be.
func (p *Plugin) stateOf(c *state.CycleState, create bool) *guestState {
	if v := c.Read(p.config.Name, stateKey); v != nil {
		return v.(*guestState)
	}
	if !create {
		return nil
	}
	v := &guestState{public: p.public, most: p.config.Limits.StateSize}
	c.Write(p.config.Name, stateKey, v)
	return v
}

// stateKey is the key of a plugin's bytes in a CycleState.
const stateKey = "guest"
